import Table from "cli-table3";
import { type Json, jsonText } from "./json-text.ts";

/** Results go to standard output; errors, and what is only said on the way, to standard error. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: Json): void {
  printLine(jsonText(value));
}

export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly align?: "left" | "right";
}

/** A table as text, without colours, so that it reads the same in a file. */
export function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const table = new Table({
    head: columns.map(({ title }) => title),
    colAligns: columns.map(({ align }) => align ?? "left"),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => columns.map(({ text }) => printable(text(row)))));
  return table.toString();
}

/** In one line and without control characters: text from a database must not move a terminal's cursor. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** Text cut to a width, with a mark that it was. */
export function shortened(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 3).join("")}...`;
}
