/** How a property's name becomes a column's where the builder names none. */
export const casings = [
  "snake_case",
  "SCREAMING_SNAKE_CASE",
  "camelCase",
  "PascalCase",
  "kebab-case",
  "lowercase",
  "UPPERCASE",
] as const;

export type Casing = (typeof casings)[number];

/** Words end where a small letter or digit meets a capital, and before the last capital of a row of them. */
const WORD = /[\p{Lu}]+(?![\p{Ll}])[\p{N}]*|\p{Lu}?[^\p{Lu}_\-\s]+/gu;

/**
 * The property's name in the casing; without one, as it stands.
 *
 * @example
 * recased("lockedUntil", "snake_case"); // "locked_until"
 */
export function recased(property: string, casing: Casing | undefined): string {
  if (casing === undefined) return property;
  if (casing === "lowercase") return property.toLowerCase();
  if (casing === "UPPERCASE") return property.toUpperCase();
  const words = property.match(WORD)?.map((word) => word.toLowerCase()) ?? [property];
  switch (casing) {
    case "snake_case":
      return words.join("_");
    case "SCREAMING_SNAKE_CASE":
      return words.join("_").toUpperCase();
    case "kebab-case":
      return words.join("-");
    case "camelCase":
      return words.map((word, index) => (index === 0 ? word : capitalized(word))).join("");
    case "PascalCase":
      return words.map(capitalized).join("");
  }
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
