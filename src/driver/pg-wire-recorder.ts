import type { PgBindMessage, PgParseMessage, PgWireLike } from "./pg-types.ts";

type WireMessage =
  | { readonly send: "parse"; readonly message: PgParseMessage }
  | { readonly send: "bind"; readonly message: PgBindMessage }
  | { readonly send: "describe" | "execute" | "close"; readonly message: unknown };

/** A wire that keeps what Queries would send, and sends it all at once, with one Sync, when told. */
export class WireRecorder implements PgWireLike {
  readonly stream: PgWireLike["stream"] = NO_STREAM;
  readonly parsedStatements: Record<string, string | undefined>;
  /** What this flush prepares: a second Query of the same name finds it here. */
  readonly submittedNamedStatements: Record<string, string | undefined> = {};
  readonly #submittedBefore: Record<string, string | undefined>;
  readonly #messages: WireMessage[] = [];
  #isSent = false;

  constructor(wire: PgWireLike) {
    this.parsedStatements = wire.parsedStatements;
    this.#submittedBefore = wire.submittedNamedStatements ?? {};
  }

  parse({ name, text }: PgParseMessage): void {
    if (name) {
      // Another flush is on its way that prepares this name, or fails before it gets there. Closing a
      // name that is not there is no error, preparing one that is would be.
      if (this.#submittedBefore[name] !== undefined) {
        this.#messages.push({ send: "close", message: { type: "S", name } });
      }
      this.submittedNamedStatements[name] = text;
    }
    // Without the types: those of a Query here are result parsers.
    this.#messages.push({ send: "parse", message: name ? { name, text } : { text } });
  }

  bind(message: PgBindMessage): void {
    const { valueMapper, values } = message;
    // Now and not when it is sent: a value that does not convert must stop the flush before it starts.
    const mapped =
      valueMapper === undefined ? values : values?.map((value, i) => valueMapper(value, i));
    this.#messages.push({
      send: "bind",
      message: { ...message, values: mapped, valueMapper: undefined },
    });
  }

  describe(message: unknown): void {
    this.#messages.push({ send: "describe", message });
  }

  execute(message: unknown): void {
    this.#messages.push({ send: "execute", message });
  }

  close(): void {}
  flush(): void {}
  sync(): void {}
  sendCopyFail(): void {}

  replay(wire: PgWireLike): void {
    this.#isSent = true;
    wire.stream.cork?.();
    try {
      for (const each of this.#messages) sendOn(wire, each);
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    if (wire.submittedNamedStatements === undefined) return;
    Object.assign(wire.submittedNamedStatements, this.submittedNamedStatements);
  }

  /** The names of this flush that the server never got to: their Parse was skipped. */
  forgetSubmitted(wire: PgWireLike): void {
    if (!this.#isSent || wire.submittedNamedStatements === undefined) return;
    for (const name of Object.keys(this.submittedNamedStatements)) {
      delete wire.submittedNamedStatements[name];
    }
  }
}

const NO_STREAM: PgWireLike["stream"] = {};

function sendOn(wire: PgWireLike, each: WireMessage): void {
  if (each.send === "parse") wire.parse(each.message);
  else if (each.send === "bind") wire.bind(each.message);
  else wire[each.send](each.message);
}
