export const isolationLevels = [
  "readUncommitted",
  "readCommitted",
  "repeatableRead",
  "serializable",
  "snapshot",
] as const;

export const transactionModes = ["deferred", "immediate", "exclusive"] as const;

export const formWords = {
  rowLock: "row lock",
  lease: "lease",
  advisoryLock: "advisory lock",
} as const;

/** A list in words: `a, b or c`. */
export type Listed<Words extends readonly string[]> = Words extends readonly [
  infer Only extends string,
]
  ? Only
  : Words extends readonly [infer First extends string, infer Last extends string]
    ? `${First} or ${Last}`
    : Words extends readonly [infer First extends string, ...infer Rest extends readonly string[]]
      ? `${First}, ${Listed<Rest>}`
      : never;

/** The same with commas alone, and a word for nothing: `a, b, c`. */
export type Joined<Words extends readonly string[]> = Words extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? Rest extends readonly []
    ? First
    : `${First}, ${Joined<Rest>}`
  : "none";

export function joined(words: readonly string[]): string {
  return words.length === 0 ? "none" : words.join(", ");
}

export function listed(words: readonly string[]): string {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} or ${words.slice(-1).join("")}`;
}
