import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { SchemaError } from "../../src/errors.ts";
import { c } from "../../src/table/columns.ts";
import { rejection, testBroker } from "../support/broker-table.ts";
import { until } from "../support/until.ts";
import { work } from "../support/work-inbox.ts";
import { catalogueOf, isDescription } from "./catalogue.ts";
import { openServer } from "./open-server.ts";
import type { Reply, Said } from "./tds-server.ts";

const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    due: c.timestamp().retryAfter().nullable(),
    attempt: c.integer().attempt().generated(),
    payload: c.json().payload(),
  },
});

/** A server with the table, whose descriptions are answered so, and a broker on it. */
async function brokerOn(describes: (said: Said) => Reply | undefined, pollIntervalMs = 3_600_000) {
  const { server, source } = await openServer();
  const catalogue = catalogueOf(Jobs.description);
  server.answer = (said) => (isDescription(said) ? describes(said) : catalogue(said));
  const { broker, logger } = testBroker(source, { pollIntervalMs });
  broker.subscribe(Jobs.queue("a"), () => undefined);
  return { broker, logger, server };
}

const described: Reply = [{ columns: { name: "nvarchar" }, rows: [["id"]] }];

/** A compile error, and what the procedure says behind it. */
function refused(number: number, message: string): Reply {
  return [
    { error: number, message },
    { error: 11501, message: "The batch could not be analyzed because of compile errors." },
  ];
}

describe("the start of a broker on SQL Server", () => {
  test("22: has each statement described, and runs none of them before that", async () => {
    const { broker, server } = await brokerOn(() => described);
    await broker.start();
    await until(() => server.texts.some((text) => text.includes("@candidate")));
    const texts = server.texts.filter((text) => !text.includes("sys.columns"));
    const last = texts.findLastIndex((text) => text.startsWith("EXEC sys.sp_describe"));
    // The claim, the take, ack, retry, retry after: each as a text.
    expect(texts.filter((text) => text.startsWith("EXEC sys.sp_describe")).length).toBeGreaterThan(
      4,
    );
    for (const text of texts.slice(0, last).filter((each) => each.includes("[jobs]"))) {
      expect(text).toMatch(/^EXEC sys\.sp_describe|^SELECT/);
    }
  });

  test.each([
    [207, "Invalid column name 'grp'."],
    [208, "Invalid object name 'jobs'."],
    [229, "The SELECT permission was denied on the object 'jobs', database 'app', schema 'dbo'."],
    [102, "Incorrect syntax near ')'."],
  ])(
    "22: Msg %i stops it, with the statement, the table and the server's words",
    async (number, message) => {
      const { broker, server } = await brokerOn(() => refused(number, message));
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(SchemaError);
      expect(String(error)).toContain(
        `the server refuses the statement "claim" on table jobs: ${message}`,
      );
      expect(server.texts.filter((text) => text.includes("@candidate"))).toEqual([
        expect.stringMatching(/^EXEC sys\.sp_describe/),
      ]);
    },
  );

  test.each([
    [11512, "The metadata could not be determined because the statements are not compatible."],
    [11526, "The metadata could not be determined because a statement uses a temp table."],
    [33557097, "'sp_describe_first_result_set' is not currently supported in Babelfish"],
    [2812, "Could not find stored procedure 'sys.sp_describe_first_result_set'."],
  ])(
    "22: Msg %i says that the server cannot describe it, and the start goes on",
    async (error, message) => {
      const { broker, server } = await brokerOn(() => [{ error, message }]);
      await broker.start();
      expect(broker.health().state).toBe("running");
      await until(() => server.texts.some((text) => text.startsWith("SET NOCOUNT ON")));
    },
  );

  test("22: a deadlock in it is an outage, and it is begun again", async () => {
    let calls = 0;
    const { broker, server } = await brokerOn(() => {
      calls += 1;
      return calls === 1 ? ["rolled back", { error: 1205, severity: 13 }] : described;
    }, 20);
    await broker.start();
    await until(() => server.texts.some((text) => text.startsWith("SET NOCOUNT ON")));
    expect(calls).toBeGreaterThan(5);
  });
});

describe("the start of an inbox worker on SQL Server", () => {
  async function workerOn(describes: (said: Said) => Reply | undefined) {
    const { server, source } = await openServer();
    server.answer = (said) => {
      if (isDescription(said)) return describes(said);
      if (said.text.includes("AS [unmet]")) return [{ columns: { unmet: "nvarchar" }, rows: [] }];
      if (said.text.includes("AS [table_present]")) {
        const rows = [["id", "id", 1, 1]];
        return [
          {
            columns: { role: "nvarchar", name: "nvarchar", present: "int", table_present: "int" },
            rows,
          },
        ];
      }
      if (said.text.includes("AS [by_aggregate]")) {
        return [{ columns: { by_aggregate: "int" }, rows: [[1]] }];
      }
      return undefined;
    };
    return { server, ...work(source, () => undefined, { dialect: "sqlserver" }) };
  }

  test("has each of its statements described before the first claim", async () => {
    const { server, stop } = await workerOn(() => described);
    await until(() =>
      server.said.some(({ kind, text }) => kind === "call" && text.includes("sp_getapplock")),
    );
    await stop();
    const first = server.said.findIndex(
      ({ kind, text }) => kind === "call" && text.includes("[inbox]"),
    );
    const before = server.said.slice(0, first).filter(isDescription);
    expect(before).toHaveLength(10);
    expect(server.said.filter(isDescription)).toHaveLength(10);
  });

  test("one that the server refuses stops it, with its name and the table's", async () => {
    const message = "The UPDATE permission was denied on the object 'inbox'.";
    const { ended } = await workerOn(({ text }) =>
      text.includes("UPDATE") ? refused(229, message) : described,
    );
    const error = await rejection(ended);
    expect(error).toBeInstanceOf(SchemaError);
    expect(String(error)).toMatch(
      /the server refuses the statement "\w+" on table inbox: The UPDATE/,
    );
  });
});
