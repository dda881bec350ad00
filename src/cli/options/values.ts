import { InvalidArgumentError } from "commander";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A hundred years: more is a slip of the keyboard. */
const MOST_MS = 3_155_760_000_000;

/** A time such as `7d` in milliseconds. */
export function parseDuration(text: string): number {
  const [, digits, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name === unit)?.[1];
  const ms = Number(digits) * (factor ?? Number.NaN);
  if (ms >= 0 && ms <= MOST_MS) return ms;
  throw new InvalidArgumentError(
    "It takes a whole number and a unit, ms, s, m, h or d: 7d, 12h, 30m.",
  );
}

/** A whole number from 1 to `most`. */
export function parseCount(most: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`It takes a whole number from 1 to ${most}.`);
  };
}

/** A message's id; given more than once, all of them. */
export function parseId(text: string, before: readonly string[] = []): readonly string[] {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    return [...before, text.toLowerCase()];
  }
  throw new InvalidArgumentError("It takes the id of a message, a UUID.");
}

/** A text that is not blank. */
export function parseName(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It takes a text that is not blank.");
}

/** Milliseconds as a person says them: the two largest units. */
export function durationText(ms: number): string {
  const parts: string[] = [];
  let left = Math.max(0, ms);
  for (const [name, size] of [
    ["d", UNITS.d],
    ["h", UNITS.h],
    ["m", UNITS.m],
    ["s", UNITS.s],
  ] as const) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.length === 0 ? "under 1 s" : parts.slice(0, 2).join(" ");
}
