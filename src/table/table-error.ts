import { TableError } from "../errors.ts";

/** All that is wrong with a table in one error, a line a rule. */
export function tableError(label: string, faults: readonly string[]): TableError {
  return new TableError(faults.map((fault) => `table ${label}: ${fault}`).join("\n"));
}

/** The words of what a check threw; undefined where it did not. */
export function faultIn(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
