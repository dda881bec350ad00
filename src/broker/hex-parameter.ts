import { mysqlValue } from "../driver/mysql-values.ts";

/**
 * A value as mysql2 puts it into the text of a statement: as hexadecimal digits, so that nothing in it is ever read
 * as SQL, whatever the session makes of backslashes.
 */
export class HexLiteral {
  readonly #literal: string;

  constructor(value: string | Uint8Array) {
    const hex = Buffer.from(value).toString("hex");
    this.#literal = typeof value === "string" ? `_utf8mb4 X'${hex}'` : `X'${hex}'`;
  }

  /** By this name the driver asks. */
  toSqlString(): string {
    return this.#literal;
  }
}

/** A parameter of MySQL for a driver that has no prepared statements. */
export function hexParameter(value: unknown, position: number): unknown {
  const parameter = mysqlValue(value, position);
  return typeof parameter === "string" || parameter instanceof Uint8Array
    ? new HexLiteral(parameter)
    : parameter;
}
