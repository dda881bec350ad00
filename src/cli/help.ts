/** The end of every command's help. */
const EXIT_CODES = `
Exit codes:
  0  fine
  1  failed: no database, no table, a message that was named is not there
  2  wrong usage: an option, or a file given to one, is wrong`;

/** What follows the options in a command's help: examples, and what the exit codes mean. */
export function helpEnd(examples: readonly string[], more = ""): string {
  const lines = examples.map((example) => `  ${example}`).join("\n");
  return `${more === "" ? "" : `\n${more}\n`}\nExamples:\n${lines}\n${EXIT_CODES}`;
}
