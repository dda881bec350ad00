import { type Column, printLine, tableText } from "../output.ts";
import type { Standing } from "./progress.ts";

/** What became of the messages, and what else there is to count. */
export function printOutcomes(
  { dead, processed, retried, waiting }: Standing & { readonly retried: number },
  more: readonly (readonly [outcome: string, messages: number])[] = [],
): void {
  const outcomes = [
    ["processed", processed],
    ["dead", dead],
    ["retried, of either", retried],
    ...(waiting > 0 ? [["still waiting", waiting] as const] : []),
    ...more,
  ] as const;
  printLine("\nMessages");
  printLine(
    tableText(
      [
        { title: "outcome", text: ([name]) => name },
        { title: "messages", text: ([, count]) => String(count), align: "right" },
      ],
      outcomes,
    ),
  );
}

/** Of a file of the user's own there may be thousands. */
const MOST_ROWS = 25;

export function printRows<Row>(
  title: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  printLine(title);
  printLine(tableText(columns, rows.slice(0, MOST_ROWS)));
  if (rows.length > MOST_ROWS) printLine(`and ${rows.length - MOST_ROWS} more`);
}
