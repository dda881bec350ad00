/** What ends a command with a message and an exit code, and never with a stack trace. */
export class CliError extends Error {
  /** Stable, for `--json`. */
  readonly code: string;
  readonly exitCode: 1 | 2;

  constructor(code: string, message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.name = "CliError";
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** An option, or a file that was given to one, is wrong. */
export class UsageError extends CliError {
  constructor(message: string) {
    super("USAGE", message, 2);
    this.name = "UsageError";
  }
}
