import { Option } from "commander";
import { checkWord } from "../../options.ts";

export const dialectOption: Option = new Option("--dialect <name>", "the database")
  .choices(["postgresql", "sqlserver"])
  .default("postgresql");

/** The name as the option lets it through. */
export function checkDialect(name: string): "postgresql" | "sqlserver" {
  return checkWord("--dialect", name, ["postgresql", "sqlserver"]);
}
