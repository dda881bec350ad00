import { shown } from "./options.ts";
import { MAX_DELAY_MS } from "./retry.ts";

/** A span of time: whole or broken milliseconds, or text such as "500ms", "30s", "5m", "1.5h", "7d". */
export type Delay = number | DelayText;

/** A number and its unit. */
export type DelayText = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

/**
 * The span in whole milliseconds, rounded up.
 *
 * @param name what the error calls it, such as "retryAfter".
 * @throws RangeError that names the value, and what is taken.
 */
export function delayMsOf(name: string, value: unknown): number {
  const ms = typeof value === "string" ? msOfText(value) : value;
  if (typeof ms === "number" && ms >= 0 && ms <= MAX_DELAY_MS) return Math.ceil(ms);
  throw new RangeError(
    `${name} takes milliseconds from 0 to ${MAX_DELAY_MS}, or text of a number and a unit (ms, s, m, h, d) such as "5m", not ${shown(value)}`,
  );
}

function msOfText(text: string): number | undefined {
  const parts = /^(\d{1,15}(?:\.\d{1,6})?) ?(ms|s|m|h|d)$/.exec(text.trim());
  const unit = MS_OF_UNIT.get(parts?.[2] ?? "");
  return unit === undefined ? undefined : Number(parts?.[1]) * unit;
}

const MS_OF_UNIT: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);
