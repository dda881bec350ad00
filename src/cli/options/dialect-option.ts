import { Option } from "commander";
import { UsageError } from "../cli-error.ts";

export const dialectOption: Option = new Option("--dialect <name>", "the database")
  .choices(["postgresql", "sqlserver"])
  .default("postgresql");

/** @throws UsageError for the dialect that is yet to come. */
export function checkDialect(name: string): "postgresql" {
  if (name === "postgresql") return name;
  throw new UsageError(
    `the dialect ${name} is not built yet in this version; there is --dialect postgresql`,
  );
}
