import type { SettledRow } from "../broker/on-settled.ts";

/** A message that a handler was called with, and what came of it. What it holds are copies. */
export interface RecordedCall<Message = unknown> {
  readonly message: Message;
  /** The row's id, as text. */
  readonly id: string;
  readonly attempt: number | undefined;
  /** What became of the row, once the database has said so; undefined until then, or where it went back. */
  readonly outcome: SettledRow["outcome"] | undefined;
  /** What the handler threw, if it did. */
  readonly error: unknown;
}

interface OpenCall {
  readonly message: unknown;
  readonly id: string;
  readonly attempt: number | undefined;
  outcome: SettledRow["outcome"] | undefined;
  error: unknown;
}

/** What the handlers of one broker were called with. */
export class Recorder {
  readonly #calls = new Map<string, OpenCall[]>();
  readonly #given = new Map<string, { readonly id: string; readonly reason: unknown }[]>();

  /** A handler that does what the given one does, and is recorded. */
  watching(handler: (...args: unknown[]) => unknown): (...args: unknown[]) => Promise<unknown> {
    return async (messages, context) => {
      const calls = this.#open(messages, context);
      try {
        return await handler(messages, context);
      } catch (error) {
        for (const call of calls) call.error = error;
        throw error;
      }
    };
  }

  settled({ queue, id, outcome, reason }: SettledRow): void {
    const call = this.#calls.get(queue)?.findLast((each) => each.id === id);
    if (call !== undefined) call.outcome = outcome;
    if (outcome === "deadLetter") listOf(this.#given, queue).push({ id, reason });
  }

  calls(queue: string): readonly RecordedCall[] {
    return (this.#calls.get(queue) ?? []).map((call) => ({ ...call }));
  }

  deadLetters(queue: string): readonly { readonly id: string; readonly reason: unknown }[] {
    return [...(this.#given.get(queue) ?? [])];
  }

  #open(messages: unknown, context: unknown): readonly OpenCall[] {
    return contextsOf(context).map(({ attempt, id, queue }, index) => {
      const message = isBatch(context) ? at(messages, index) : messages;
      const call = {
        message: copy(message),
        id: String(id),
        attempt,
        outcome: undefined,
        error: undefined,
      };
      listOf<OpenCall>(this.#calls, queue).push(call);
      return call;
    });
  }
}

interface Known {
  readonly id: unknown;
  readonly queue: string;
  readonly attempt: number | undefined;
}

function isBatch(context: unknown): context is { readonly deliveries: readonly Known[] } {
  return typeof context === "object" && context !== null && "deliveries" in context;
}

function contextsOf(context: unknown): readonly Known[] {
  // The broker made it: its types are those of the handler.
  return isBatch(context) ? context.deliveries : [context as Known];
}

function at(messages: unknown, index: number): unknown {
  return Array.isArray(messages) ? messages[index] : messages;
}

function listOf<T>(lists: Map<string, T[]>, queue: string): T[] {
  const list = lists.get(queue) ?? [];
  lists.set(queue, list);
  return list;
}

/** A copy that the handler cannot change later; the thing itself where it cannot be copied. */
function copy(message: unknown): unknown {
  try {
    return structuredClone(message);
  } catch {
    return message;
  }
}
