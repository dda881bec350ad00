import type { ColumnDescription, KeyPart } from "./description.ts";
import { sentence } from "./sentences.ts";

export interface ParsedKey {
  readonly parts: readonly KeyPart[];
  readonly faults: readonly string[];
}

/**
 * The text of `advisoryLock` as its parts. A placeholder is a property as TypeScript has it, and is read
 * from its column.
 */
export function parseLockKey(text: string, columns: readonly ColumnDescription[]): ParsedKey {
  const parts: KeyPart[] = [];
  const faults = new Set<string>();
  if (text === "") faults.add(sentence("lockNothing"));
  let open = false;
  const tokens = text.split(/([{}])/);
  for (const [index, token] of tokens.entries()) {
    if (token === "{" || token === "}") {
      if (open === (token === "{")) faults.add(sentence("lockBrace"));
      open = token === "{";
    } else if (!open) {
      if (token !== "") parts.push({ text: token });
    } else if (token === "") {
      if (tokens[index + 1] === "}") faults.add(sentence("lockEmpty"));
    } else {
      const column = columns.find(({ property }) => property === token);
      if (column === undefined) faults.add(sentence("lockUnknown", { property: token }));
      else if (column.type === "json" || column.type === "custom") {
        faults.add(sentence("lockType", { property: token, type: column.type }));
      } else parts.push({ column });
    }
  }
  if (open) faults.add(sentence("lockBrace"));
  return { parts, faults: [...faults] };
}
