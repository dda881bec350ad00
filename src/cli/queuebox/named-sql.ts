import type { InboxStatement } from "../../dialect/inbox-statement.ts";

/** A statement whose parameters have names. */
export interface NamedStatement {
  readonly text: string;
  /** Each name once, without the colon. */
  readonly params: readonly string[];
}

/**
 * The statement with `:name` in the place of `$1` or `@p1`. Names in quotes or brackets may hold a `$1` of their
 * own and stay. A cast behind a parameter gets a space before it (`:source ::text`): psql takes it either way,
 * and readers of `:name` that are less careful then do not take `:source::` for something else.
 */
export function namedStatement({ text, params }: InboxStatement): NamedStatement {
  const names = params.map(snakeCase);
  const named = text.replace(
    /"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\]|'(?:[^']|'')*'|(?:\$|@p)(\d+)(::)?/g,
    (token: string, position: string | undefined, cast: string | undefined) => {
      if (position === undefined) return token;
      const name = names[Number(position) - 1];
      if (name === undefined) throw new Error(`the statement has no parameter ${position}`);
      return cast === undefined ? `:${name}` : `:${name} ${cast}`;
    },
  );
  return { text: named, params: names };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
