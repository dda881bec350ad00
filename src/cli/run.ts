import { CommanderError } from "commander";
import { sanitize, sanitizeError } from "../redact.ts";
import { CliError } from "./cli-error.ts";
import { jsonText } from "./json-text.ts";
import { createProgram } from "./program.ts";

/** Runs one command line, reports its error if it has one, and answers the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const isJson = args.includes("--json");
  // Whoever reads us may stop reading (`| head`): what runs ends in good order, unheard.
  process.stdout.on("error", () => {});
  try {
    await createProgram(isJson).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    const failure = failureOf(error, isJson);
    if (!failure.isTold) process.stderr.write(textOf(failure, isJson));
    return failure.exitCode;
  }
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
  /** Somebody else has said it already, or there is nothing to say. */
  readonly isTold?: boolean;
}

function failureOf(error: unknown, isJson: boolean): Failure {
  if (error instanceof CliError) {
    const { code, exitCode, message } = error;
    return { code, exitCode, message: sanitize(message) };
  }
  if (!(error instanceof CommanderError)) {
    return { code: "FAILED", exitCode: 1, message: sanitizeError(error) };
  }
  // Help and version are errors in name only.
  // Help and version are errors in name only; without a command, commander has shown the help.
  if (error.exitCode === 0) return { code: "HELP", exitCode: 0, message: "", isTold: true };
  if (error.code === "commander.help") {
    return { code: "USAGE", exitCode: 2, message: "the command is missing", isTold: !isJson };
  }
  const message = `${error.message.replace(/^error: /, "")} (--help says what there is)`;
  return { code: "USAGE", exitCode: 2, message: sanitize(message) };
}

function textOf({ code, message }: Failure, isJson: boolean): string {
  return isJson ? `${jsonText({ error: { code, message } })}\n` : `error: ${message}\n`;
}
