import { describe, expect, test } from "vitest";
import { Broker } from "../../src/broker/broker.ts";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { TableError } from "../../src/errors.ts";
import { c } from "../../src/table/columns.ts";

const LONG = "é".repeat(32);

function jobs(name: string, schema?: string) {
  return inboxTable(name, {
    ...(schema !== undefined && { schema }),
    columns: { id: c.bigint().id().generated(), payload: c.json().payload() },
  });
}

const unreached: ConnectionSource = {
  database: "postgres",
  connect: () => Promise.reject(new Error("nothing is to be asked")),
  listen: () => Promise.reject(new Error("nothing is to be heard")),
};

describe("6: names that PostgreSQL would cut off are refused with their count", () => {
  const broker = () => new Broker(unreached);
  const sentence = `the table "${LONG}" has 64 bytes, and a name in postgres has 63 at most`;

  test("of a subscription's table, when it subscribes", () => {
    const subscribe = () => broker().subscribe(jobs(LONG).queue(), () => undefined);
    expect(subscribe).toThrow(TableError);
    expect(subscribe).toThrow(sentence);
    expect(() => broker().subscribe(jobs("é".repeat(31)).queue(), () => undefined)).not.toThrow();
  });

  test("of a dead-letter table", () => {
    const subscribe = () =>
      broker().subscribe(jobs("jobs").queue(), { deadLetter: jobs(LONG) }, () => undefined);
    expect(subscribe).toThrow(TableError);
    expect(subscribe).toThrow(sentence);
  });

  test("of a table that is written to, whoever writes", async () => {
    const queue = jobs(LONG).queue();
    await expect(broker().publish(queue, 1)).rejects.toThrow(sentence);
    await expect(queue.insert(unreached, 1)).rejects.toThrow(sentence);
    await expect(jobs(LONG).insert(unreached, { payload: 1 })).rejects.toThrow(sentence);
    expect(() => deadLetters(unreached, jobs(LONG))).toThrow(sentence);
  });

  test("of a channel, where somebody listens", () => {
    const Jobs = jobs("j".repeat(40), "s".repeat(23));
    const channel = `the channel "${"s".repeat(23)}.${"j".repeat(40)}" has 64 bytes`;
    const listening = new Broker(unreached, { listenNotify: true });
    expect(() => listening.subscribe(Jobs.queue(), () => undefined)).toThrow(channel);
    expect(() => listening.route("jobs", Jobs.queue())).toThrow(channel);
    expect(() => Jobs.ddl("postgres", { listenNotify: true })).toThrow(channel);
    expect(() => broker().subscribe(Jobs.queue(), () => undefined)).not.toThrow();
    expect(Jobs.ddl("postgres")).toHaveLength(1);
  });
});
