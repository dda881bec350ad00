/** What {@link jsonText} writes. A bigint becomes all its digits. */
export type Json =
  | string
  | number
  | bigint
  | boolean
  | null
  | RawJson
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Text that is JSON already and goes out as it stands, so that none of its numbers is rounded. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The text as JSON where it is JSON, else as a string. It is not taken apart: a number of more digits
 * than a double holds stays whole.
 */
export function rawJson(text: string): RawJson | string {
  try {
    JSON.parse(text);
    return new RawJson(text);
  } catch {
    return text;
  }
}

/** One line of JSON. `JSON.stringify` refuses a bigint, and rounds what is parsed before. */
export function jsonText(value: Json): string {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof RawJson) return value.text;
  if (isList(value)) return `[${value.map(jsonText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`,
  );
  return `{${members.join(",")}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
