import { expect, onTestFinished, test } from "vitest";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { hasMethods } from "../../src/options.ts";
import { FaultyNetwork } from "../support/proxy.ts";
import { forEachTarget, type OpenedSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Longer than any test: only its session's end is the end of it. */
const STATEMENT = "SELECT SLEEP(3000) AS slept";
const WITH_A_PARAMETER = "SELECT SLEEP(?) AS slept";

const SENT: Readonly<Record<string, (given: Connection) => Promise<unknown>>> = {
  "the library's": (given) => given.query(STATEMENT),
  "the library's with a parameter": (given) => given.query(WITH_A_PARAMETER, [3000]),
  "a handler's own": async (given) => {
    const guarded = given.guardClient?.(async () => {});
    const client = guarded?.client;
    if (!hasMethods(client, ["query"])) throw new Error("the driver guards no client");
    await client.query(STATEMENT);
  },
};

/** The session whose statement that is, and undefined where none is at it. */
async function sleeper({ query }: Pick<OpenedSource, "query">): Promise<number | undefined> {
  const { rows } = await query<{ id: number }>(
    `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'SELECT SLEEP(%'`,
  );
  return rows[0]?.id;
}

/** Rejections that nobody has heard, until the test ends. */
function unheard(): unknown[] {
  const found: unknown[] = [];
  const listen = (error: unknown) => void found.push(error);
  process.on("unhandledRejection", listen);
  onTestFinished(() => void process.off("unhandledRejection", listen));
  return found;
}

async function throughProxy(
  db: OpenedSource,
): Promise<{ network: FaultyNetwork; source: ConnectionSource; given: Connection }> {
  const { url } = db;
  if (url === undefined) throw new Error("no network reaches this one");
  const network = await FaultyNetwork.before(url);
  onTestFinished(() => network.close());
  const source = db.another({ max: 3, url: network.urlOf(url) });
  return { network, source, given: await source.connect() };
}

forEachTarget({ connections: "many", dialect: "mysql" }, (_target, open) => {
  for (const [of, send] of Object.entries(SENT)) {
    test(`41, 76: a statement of ${of} fails when its connection is given up, and ends on the server too`, async () => {
      const db = await open();
      const rejections = unheard();
      const { given } = await throughProxy(db);
      const failed = expect(send(given)).rejects.toThrow(/given up/);
      await until(() => sleeper(db));
      await given.release(new Error("given up"));
      await failed;
      await until(async () => (await sleeper(db)) === undefined);
      expect(rejections).toEqual([]);
    });
  }

  test("41, 76: a connection is given up whose session has ended unheard", async () => {
    const db = await open();
    const rejections = unheard();
    const { given, network } = await throughProxy(db);
    const failed = expect(given.query(STATEMENT)).rejects.toThrow(/given up/);
    const id = await until(() => sleeper(db));
    // The pool may be opening others.
    for (const connection of network.connections) if (connection.saw(STATEMENT)) connection.stall();
    await db.query(`KILL ${id}`);
    await until(async () => (await sleeper(db)) === undefined);
    await given.release(new Error("given up"));
    await failed;
    expect(rejections).toEqual([]);
  });

  test("41, 76: a connection is given up while nothing passes, and the pool goes on when it does again", async () => {
    const db = await open();
    const rejections = unheard();
    const { given, network, source } = await throughProxy(db);
    // What the KILL would go by is in the pool, and stalls too.
    const idle = await Promise.all([source.connect(), source.connect()]);
    const failed = expect(given.query(STATEMENT)).rejects.toThrow(/given up/);
    await until(() => sleeper(db));
    for (const connection of idle) await connection.release();
    network.stall();
    await given.release(new Error("given up"));
    await failed;
    network.resume();
    const next = await source.connect();
    const { rows } = await next.query<{ one: unknown }>("SELECT 1 AS one");
    expect(rows.map(({ one }) => Number(one))).toEqual([1]);
    await next.release();
    const id = await sleeper(db);
    if (id !== undefined) await db.query(`KILL ${id}`);
    expect(rejections).toEqual([]);
  });
});
