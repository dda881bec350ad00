/**
 * `intray/testing`: a broker in a service's own tests, on a real database, with a clock that the test moves.
 *
 * @module
 */
import { Broker } from "../broker/broker.ts";
import type { MessageOptions } from "../broker/messages.ts";
import { onSettled } from "../broker/on-settled.ts";
import type { BrokerOptions, QueueOf } from "../broker/types.ts";
import { type Delay, delayMsOf } from "../delay.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import type { Queue } from "../table/queue.ts";
import { MovingClock } from "./moving-clock.ts";
import { type RecordedCall, Recorder } from "./recorder.ts";

export type { RecordedCall } from "./recorder.ts";

/** A broker under test; see {@link testBroker}. */
export interface TestBroker {
  /** The broker itself, for whatever the service does with it. */
  readonly broker: Broker;
  /**
   * Publishes, and waits until all that follows from it is settled, messages that handlers publish included.
   * A handler that throws rejects nothing: its call says so. Answers the row's id.
   */
  publish<Of extends Queue>(
    queue: Of,
    message: Of["$input"],
    options?: MessageOptions,
  ): Promise<QueueOf<Of>["$table"]["id"]>;
  /** Waits until nothing is due and nothing is in work. */
  settled(): Promise<void>;
  /**
   * Moves time on, for timers and for what is due in the database, and waits until all is settled.
   *
   * @throws RangeError where the time is no delay such as `60_000` or `"5m"`.
   */
  advance(time: Delay): Promise<void>;
  /** The messages that handlers of the queue were called with, in order. */
  messages<Of extends Queue>(queue: Of): readonly Of["$message"][];
  /** The calls of the queue's handlers, in order, and what came of each. */
  calls<Of extends Queue>(queue: Of): readonly RecordedCall<Of["$message"]>[];
  /** The rows that the queue has given up, with the reason. */
  deadLetters(queue: Queue): readonly { readonly id: string; readonly reason: unknown }[];
  /** Stops the broker; nothing of it is left. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a broker on a real database, as the service sets it up. Its clock is the host's, moved on by
 * `advance`, and stands in for the database's clock for every table that is on that.
 *
 * @param source a connection source of a database with the tables; PGlite and SQLite in memory take no server.
 * @param setUp subscribes, as the service does at its start. What it answers is awaited, and not looked at.
 * @throws what {@link Broker.start} throws.
 * @example
 * await using test = await testBroker(fromPglite(db), (broker) => {
 *   broker.subscribe(emails, async (email) => send(email));
 * });
 * await test.publish(emails, { to: "ada@example.com" });
 * expect(test.messages(emails)).toEqual([{ to: "ada@example.com" }]);
 */
export async function testBroker(
  source: ConnectionSource,
  setUp: (broker: Broker) => unknown,
  options: Omit<BrokerOptions, "clock"> = {},
): Promise<TestBroker> {
  const clock = new MovingClock();
  const recorder = new Recorder();
  // What the harness waits for is never the poll: it asks.
  const settings = {
    pollIntervalMs: 60_000,
    ...options,
    clock,
    [onSettled]: recorder.settled.bind(recorder),
  };
  const broker = new Broker(source, settings);
  await setUp(recording(broker, recorder));
  await broker.start();
  const stop = () => broker.stop({ graceMs: 0 });
  const settled = () => broker.idle();
  return {
    broker,
    async publish(queue, message, given) {
      const id = await broker.publish(queue, message, given);
      await settled();
      return id;
    },
    settled,
    async advance(time) {
      const ms = delayMsOf("advance", time);
      // Nothing is on its way to the database when time jumps.
      await settled();
      await clock.advance(ms);
      await settled();
    },
    messages: (queue) => recorder.calls(queue.name).map(({ message }) => message),
    calls: (queue) => recorder.calls(queue.name),
    deadLetters: (queue) => recorder.deadLetters(queue.name),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The broker, whose handlers are recorded from now on. */
function recording(broker: Broker, recorder: Recorder): Broker {
  return new Proxy(broker, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property !== "subscribe") return value.bind(target);
      return (...args: unknown[]) => {
        const handler = args.at(-1);
        const watched = isHandler(handler)
          ? [...args.slice(0, -1), recorder.watching(handler)]
          : args;
        return Reflect.apply(value, target, watched);
      };
    },
  });
}

function isHandler(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === "function";
}
