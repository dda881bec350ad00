import { describe, expect, test } from "vitest";
import { Broker } from "../../src/broker/broker.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { TableError } from "../../src/errors.ts";
import { retry } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";

const source = { database: "postgres", connect: () => Promise.reject(new Error("never")) };

const Bare = inboxTable("bare", { columns: { id: c.bigint().id(), payload: c.json().payload() } });
const Full = inboxTable("full", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    lane: c.text().partitionKey(),
    attempt: c.integer().attempt(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});
const Rows = inboxTable("rows", { columns: { id: c.bigint().id(), total: c.integer() } });
const bare = Bare.queue();
const full = Full.queue("a");

function subscribing(queue: unknown, options: unknown) {
  return () => new Broker(source).subscribe(queue as never, options as never, (() => {}) as never);
}

describe("B: options of a subscription are refused by name, with what they take and got", () => {
  test.each([
    [full, { workers: 0 }, "workers takes a whole number from 1 to 10000, not 0"],
    [full, { workers: "4" }, 'workers takes a whole number from 1 to 10000, not "4"'],
    [full, { workers: 2, workersByKey: 2 }, "workersByKey stands instead of workers"],
    [full, { workersByKey: 2, batch: 5 }, "workersByKey takes single messages: leave batch out"],
    [
      bare,
      { workersByKey: 2 },
      "workersByKey takes a table with a column marked with partitionKey()",
    ],
    [full, { batch: 1.5 }, "batch takes a whole number from 1 to 10000, not 1.5"],
    [bare, { leaseMs: 1000 }, "leaseMs of bare: this takes a table with a lease"],
    [bare, { prefetch: 5 }, "prefetch of bare: this takes a table with a lease"],
    [full, { leaseMs: 1 }, "leaseMs takes a whole number from 10 to"],
    [full, { pollIntervalMs: -1 }, "pollIntervalMs takes a whole number from 1 to"],
    [full, { transactional: "yes" }, 'transactional takes true or false, not "yes"'],
    [full, { maxAttempts: 3 }, "maxAttempts takes the option deadLetter beside it"],
    [
      bare,
      { maxAttempts: 3, deadLetter: Full },
      "deadLetter: full has groups: name the queue of one",
    ],
    [Full.queue("b"), { deadLetter: Full.queue("b") }, "would stay where they are"],
    [full, { deadLetter: "failed" }, 'deadLetter takes a queue or a table, not "failed"'],
    [full, { deadLetterColumns: {} }, "deadLetterColumns takes the option deadLetter beside it"],
    [
      full,
      { deadLetter: Bare, deadLetterColumns: { nope: null } },
      'deadLetterColumns names "nope"',
    ],
    [
      full,
      { onFailure: { thrown: retry() } },
      'onFailure has no option "thrown"; there are throw, decode',
    ],
    [
      full,
      { onFailure: { throw: "retry" } },
      "onFailure.throw takes an outcome such as drop(), or a function",
    ],
    [full, { retry: { jitter: 2 } }, "retry.jitter takes a number from 0 to 1, not 2"],
    [full, { retry: { baseDelay: 2 } }, 'retry has no option "baseDelay"'],
    [full, { reply: Full }, "reply takes a queue"],
    [full, { name: " " }, 'name takes a text that is not blank, not " "'],
    [full, { worker: 4 }, 'the subscription to a has no option "worker"; there are name, workers'],
    [full, 7, "the subscription to a takes an object, not 7"],
    [Full, {}, "the first argument takes a queue, such as table.queue"],
  ] as const)("%# %j", (queue, options, message) => {
    expect(subscribing(queue, options)).toThrow(message);
  });

  test("maxAttempts of a table that counts none", () => {
    const Other = inboxTable("other", {
      columns: { id: c.bigint().id(), payload: c.json().payload() },
    });
    const options = { maxAttempts: 3, deadLetter: Other };
    expect(subscribing(bare, options)).toThrow("marked with attempt()");
  });

  test("a dead-letter table whose columns do not fit: all of it in one error", () => {
    const Narrow = inboxTable("narrow", {
      columns: {
        id: c.bigint().id().generated(),
        needed: c.text(),
        payload: c.text().payload(),
      },
    });
    const wrong = subscribing(full, { deadLetter: Narrow });
    expect(wrong).toThrow(TableError);
    expect(wrong).toThrow('the column "lane" of full would be lost in narrow');
    expect(wrong).toThrow('"payload" is json in full, and "payload" is text in narrow');
    expect(wrong).toThrow('"needed" of narrow takes a value, and no column of full has it');
  });

  test("a handler is a function, and a name has a route to a payload table", () => {
    const broker = new Broker(source).route("rows", Rows.queue());
    expect(() => broker.subscribe(full, 7 as never)).toThrow("takes a handler last");
    expect(() => broker.subscribe(full, {}, undefined as never)).toThrow("takes a handler last");
    expect(() => broker.subscribe("nope", () => {})).toThrow('no route leads from "nope"');
    expect(() => broker.subscribe("rows", () => {})).toThrow("which has no payload column");
  });

  test("28: a setting that can never work is refused at start with the number it needs", async () => {
    const listening = { ...source, max: 1, listen: () => Promise.reject(new Error("never")) };
    const broker = new Broker(listening, { listenNotify: true });
    broker.subscribe(bare, { workers: 3 }, () => {});
    await expect(broker.start()).rejects.toThrow(
      "listenNotify holds one connection, and connections.max is 1: it takes at least 2, better 5",
    );
  });
});

describe("66: events of the service's own, when it subscribes", () => {
  const withEvents = (custom: object) => {
    const Own = inboxTable("own", {
      columns: {
        id: c.bigint().id(),
        lease: c.timestamp().lockedUntil(),
        payload: c.json().payload(),
      },
      custom,
    });
    return Own.queue();
  };
  const done = async () => undefined;

  test("one that has no function for the broker's database is refused", () => {
    const wrong = subscribing(withEvents({ ack: { mysql: done } }), {});
    expect(wrong).toThrow(TableError);
    expect(wrong).toThrow("own: the custom event ack has no function for postgres");
    expect(subscribing(withEvents({ ack: { postgres: done } }), {})).not.toThrow();
  });
});

describe("options of a broker", () => {
  test.each([
    [{ pollInterval: 5 }, 'BrokerOptions has no option "pollInterval"'],
    [{ pollIntervalMs: 0 }, "pollIntervalMs takes a whole number from 1"],
    [{ leaseMs: Number.NaN }, "leaseMs takes a whole number from 10"],
    [{ listenNotify: 1 }, "listenNotify takes true or false, not 1"],
    [{ logger: {} }, "logger takes an object with info, warn and error, not an object"],
    [{ clock: Date }, "clock takes an object with monotonic and setTimer"],
    [{ dialect: "postgres" }, 'dialect takes a Dialect, not "postgres"'],
    [{ listenNotify: true }, "listenNotify takes a connection source that has a method listen"],
  ] as const)("%j", (options, message) => {
    expect(() => new Broker(source, options as never)).toThrow(message);
  });

  test("stop takes graceMs alone", async () => {
    const broker = new Broker(source);
    await expect(broker.stop({ graceMs: -1 })).rejects.toThrow(
      "graceMs takes a whole number from 0",
    );
    await expect(broker.stop({ grace: 1 } as never)).rejects.toThrow('stop has no option "grace"');
  });
});
