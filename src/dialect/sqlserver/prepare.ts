/**
 * Has the server bind a statement without running it: `sp_describe_first_result_set` says what a batch would
 * answer, and for that compiles it. It takes the batch as a text, so there is nothing that could run: of SET
 * NOEXEC and SET FMTONLY a server that takes them for settings it need not know (Babelfish) would run what follows.
 * SET SHOWPLAN_XML takes a permission of its own.
 *
 * It gives up, with a number between 11501 and 11550, on what it cannot describe. That says nothing of the
 * statement, and neither does a server that does not have the procedure, or describes a SELECT alone (Babelfish).
 */
import type { Statement } from "../statement.ts";
import { serverErrors } from "./errors.ts";
import { withoutLocks } from "./lock-name.ts";
import { literal, placeholder } from "./sql.ts";

const PROCEDURE = "sp_describe_first_result_set";

/** The statement and its parts; each parameter is a text, as which most of them are sent. */
export function prepareStatement(statement: Statement): readonly string[] {
  const { after = [], before = [], params, program, text } = statement;
  if (program !== undefined) return program.parts.flatMap(prepareStatement);
  const declared = params.map((_, index) => `${placeholder(index + 1)} nvarchar(max)`).join(", ");
  const described = [
    `@tsql = ${literal(withoutLocks(text))}`,
    ...(declared === "" ? [] : [`@params = ${literal(declared)}`]),
  ];
  return [
    ...before.flatMap(prepareStatement),
    `EXEC sys.${PROCEDURE} ${described.join(", ")};`,
    ...after.flatMap(prepareStatement),
  ];
}

/**
 * The error that says why the server does not take the statement, which mostly comes before one that says no more than
 * that it could not be described. Undefined: none does.
 */
export function refusalIn(error: unknown): unknown {
  return serverErrors(error).find(
    ({ message, number }) =>
      typeof number === "number" && REFUSES.has(number) && !String(message).includes(PROCEDURE),
  );
}

/**
 * No others: a batch is compiled with a text for each parameter, so that a type that does not fit one (206, 257)
 * need not be the column's.
 */
const REFUSES: ReadonlySet<number> = new Set([
  102, // syntax
  103,
  105,
  156,
  170,
  319,
  137, // a variable that is not declared
  134, // or twice
  1087,
  195, // no such function
  207, // no such column
  208, // no such table
  209, // columns of one name
  4104,
  4121,
  213, // as many values as columns
  229, // permissions: of a table, a column, a statement, a database
  230,
  262,
  297,
  300,
  916,
  259, // what cannot be written: a catalogue, a computed column, a rowversion, an identity, a view
  271,
  272,
  273,
  544,
  4403,
  4405,
  4406,
  8102,
  334, // OUTPUT beside triggers
  402, // types that an operator does not take
  451, // collations
  468,
  650, // READPAST at another level
  1047, // hints that exclude each other
  1934, // settings of the session that an index does not take
  2812, // no such procedure
]);
