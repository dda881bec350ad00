import type { PairedResult } from "./paired-rounds.ts";

/** A comparison as a line of the console. */
export function told({ high, isDifferent, low, rates, ratio }: PairedResult, of: string): string {
  const each = Object.entries(rates).map(([name, rate]) => `${name} ${rate.toFixed(0)}/s`);
  return `${ratio.toFixed(2)} of ${of} (${low.toFixed(2)} to ${high.toFixed(2)})${isDifferent ? "" : ", no difference"}; ${each.join(", ")}`;
}
