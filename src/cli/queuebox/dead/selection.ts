import { UsageError } from "../../cli-error.ts";

/** Which dead messages a command means. */
export type Selection =
  | { readonly ids: readonly string[] }
  /** All of a source, or of all sources where it is undefined. */
  | { readonly source: string | undefined };

export interface SelectionOptions {
  readonly id?: readonly string[];
  readonly source?: string;
  readonly all?: boolean;
}

/**
 * Nothing is changed for want of an option: what is meant must be said.
 *
 * @throws UsageError where it is not said, or said twice.
 */
export function selectionOf(
  command: string,
  { all = false, id = [], source }: SelectionOptions,
): Selection {
  if (id.length > 0) {
    if (!all && source === undefined) return { ids: [...new Set(id)] };
    throw new UsageError(
      `${command} takes --id for single messages, or --source or --all; not both`,
    );
  }
  if (all || source !== undefined) return { source };
  throw new UsageError(
    `${command} takes --id <id> for one message, --source <name> for all of a source, or --all`,
  );
}
