const abandoned = () => process.exit(1);

/** Without its test a program has no reason to go on. */
export function endWithTest(): void {
  process.on("disconnect", abandoned);
}

/** From here on the process ends by itself, when nothing is left that keeps it. */
export function endWell(): void {
  process.removeListener("disconnect", abandoned);
  process.disconnect();
}
