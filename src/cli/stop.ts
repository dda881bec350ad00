/** The exit code of a process that Ctrl-C ended. */
const INTERRUPTED = 130;

/** npm passes a Ctrl-C on that the terminal has sent to us too: that is one and not two. */
const SAME_MS = 1_000;

/**
 * Runs something that Ctrl-C or SIGTERM ends in good order, by the signal it is given; so does an
 * output that nobody reads any more. A second Ctrl-C ends the process at once.
 */
export async function untilStopped<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let stoppedAt = Number.POSITIVE_INFINITY;
  const stop = () => {
    if (performance.now() - stoppedAt > SAME_MS) process.exit(INTERRUPTED);
    if (controller.signal.aborted) return;
    stoppedAt = performance.now();
    controller.abort(new Error("stopped"));
  };
  const unheard = () => controller.abort(new Error("nobody reads the output"));
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, stop);
  process.stdout.on("error", unheard);
  try {
    return await use(controller.signal);
  } finally {
    process.stdout.removeListener("error", unheard);
    for (const signal of signals) process.removeListener(signal, stop);
  }
}
