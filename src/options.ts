/** Checks of single options. Each names the option, what it takes, and the value that it got. */

/** The largest value of a 32-bit integer column. */
export const MAX_INT32 = 2_147_483_647;

export interface NumberRule {
  readonly min: number;
  readonly max: number;
  /** Whole numbers only; default true. */
  readonly whole?: boolean;
}

/**
 * @throws TypeError where the value is no number, RangeError where it is NaN, not whole or out of range.
 */
export function checkNumber(name: string, value: unknown, rule: NumberRule): number {
  const isWhole = rule.whole ?? true;
  const takes = `${name} takes a ${isWhole ? "whole " : ""}number from ${rule.min} to ${rule.max}`;
  if (typeof value !== "number") throw new TypeError(`${takes}, not ${shown(value)}`);
  const fits = value >= rule.min && value <= rule.max && (!isWhole || Number.isInteger(value));
  if (!fits) throw new RangeError(`${takes}, not ${shown(value)}`);
  return value;
}

/** @throws TypeError where the value is none of the words. */
export function checkWord<Word extends string>(
  name: string,
  value: unknown,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === value);
  if (word === undefined) {
    const list = words.map((each) => `"${each}"`).join(" or ");
    throw new TypeError(`${name} takes ${list}, not ${shown(value)}`);
  }
  return word;
}

/** @throws TypeError where the value is neither true nor false. */
export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value !== "boolean") {
    throw new TypeError(`${name} takes true or false, not ${shown(value)}`);
  }
  return value;
}

/** @throws TypeError where the value is no object, or has a key that is not known. */
export function checkKnownKeys(
  name: string,
  value: unknown,
  known: readonly string[],
): Record<string, unknown> {
  if (!isObject(value)) throw new TypeError(`${name} takes an object, not ${shown(value)}`);
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw new TypeError(`${name} has no option "${key}"; there are ${known.join(", ")}`);
  }
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Whether the value is an object or a function with these methods. */
export function hasMethods<Name extends string>(
  value: unknown,
  names: readonly Name[],
): value is Record<Name, (...args: unknown[]) => unknown> {
  if (!isObject(value) && typeof value !== "function") return false;
  const methods: object = value;
  return names.every((name) => typeof Reflect.get(methods, name) === "function");
}

/** A value as an error message shows it: short, and never a secret's worth of it. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value.length > 40 ? `"${value.slice(0, 40)}..."` : `"${value}"`;
    case "bigint":
      return `${value}n`;
    case "function":
      return "a function";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "an array" : "an object";
    default:
      return String(value);
  }
}
