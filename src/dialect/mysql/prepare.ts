import type { Statement } from "../statement.ts";

/**
 * Has the server parse and resolve the statement and its parts without running them. The text goes as its
 * bytes, so that no setting of the session reads it in another way.
 */
export function prepareStatement({ program, text }: Statement): readonly string[] {
  if (program !== undefined) return program.parts.flatMap(prepareStatement);
  const hex = Buffer.from(text).toString("hex");
  return [
    `SET @intray_statement = CONVERT(x'${hex}' USING utf8mb4)`,
    "PREPARE intray_statement FROM @intray_statement",
    "DEALLOCATE PREPARE intray_statement",
  ];
}
