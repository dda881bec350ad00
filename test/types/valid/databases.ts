import { Broker } from "../../../src/broker/broker.ts";
import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { Dialect } from "../../../src/dialect/dialect.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { fromPg, type PgPoolLike } from "../../../src/driver/pg.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

declare const pool: PgPoolLike;
declare const anywhere: ConnectionSource;
declare const own: Dialect;

const columns = { id: c.bigint().id(), total: c.integer() };
const Strict = inboxTable("strict", { columns, isolation: "serializable" });
const Snapshot = inboxTable("snapshot", { columns, isolation: "snapshot" });
const Mail = inboxHeaders("mail", { columns: { id: c.bigint().id(), kind: c.text().group() } });
const To = inboxMessage({ headers: Mail, columns: { to: c.text() } });

const broker = new Broker(fromPg(pool), { listenNotify: true });
expectType<Equal<typeof broker, Broker<"postgres">>>(true);
broker.subscribe(Strict.queue(), (row) => expectType<Equal<typeof row.total, number>>(true));
broker.subscribe(To.queue("a"), { batch: 2 }, ([first]) => {
  expectType<Equal<typeof first, { to: string } | undefined>>(true);
});
broker.route("strict", Strict.queue()).subscribe("strict", () => {});

// An event of the service's own, for each database that the table is used on.
const Own = inboxTable("own", {
  columns,
  custom: {
    retry: async (_conn, id) => expectType<Equal<typeof id, bigint>>(true),
    ack: {
      postgres: async (_conn, id) => expectType<Equal<typeof id, bigint>>(true),
      sqlite: async () => {},
    },
  },
});
broker.subscribe(Own.queue(), (row) => expectType<Equal<typeof row.total, number>>(true));
new Broker(anywhere).subscribe(Own.queue(), () => {});

// Where the source or a dialect of one's own leaves it open, the run time tells.
expectType<Equal<Broker, Broker<string>>>(true);
new Broker(anywhere).subscribe(Snapshot.queue(), () => {});
new Broker(fromPg(pool), { dialect: own }).subscribe(Snapshot.queue(), () => {});

// One that knows its database goes wherever a broker is asked for.
takesAny(broker);
function takesAny(_any: Broker): void {}
