export interface CodeBlock {
  /** What stands behind the three backticks, such as `ts`. */
  readonly language: string;
  readonly code: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
}

/** The fenced code blocks of a Markdown text, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { language: string; indent: string; line: number; code: string[] } | undefined;
  for (const [index, text] of markdown.split("\n").entries()) {
    const fence = /^(\s*)```(.*)$/.exec(text);
    if (open === undefined) {
      if (fence === null) continue;
      const [, indent = "", language = ""] = fence;
      open = { language: language.trim(), indent, line: index + 2, code: [] };
    } else if (fence === null) {
      open.code.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    } else {
      blocks.push({ language: open.language, line: open.line, code: `${open.code.join("\n")}\n` });
      open = undefined;
    }
  }
  return blocks;
}

/**
 * The first block of the language after a comment `<!-- example: name -->`: an example that a test runs
 * as it is.
 *
 * @throws Error where there is none.
 */
export function example(markdown: string, name: string, wanted = "ts"): string {
  const marker = `<!-- example: ${name} -->`;
  const at = markdown.indexOf(marker);
  if (at === -1) throw new Error(`there is no ${marker}`);
  const block = codeBlocks(markdown.slice(at)).find(({ language }) => language === wanted);
  if (block === undefined) throw new Error(`there is no ${wanted} block after ${marker}`);
  return block.code;
}
