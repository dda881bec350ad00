/**
 * Bytes, given in hexadecimal digits, as the text that they are in UTF-8; what is none stays digits, behind
 * `\x`. `isCut`: the end may lack the rest of a character.
 */
export function hexText(hex: string, isCut = false): string {
  const bytes = Buffer.from(hex, "hex");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return decoder.decode(bytes, { stream: isCut });
  } catch {
    return `\\x${hex}`;
  }
}
