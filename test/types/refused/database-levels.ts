import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { fromPg, type PgPoolLike } from "../../../src/driver/pg.ts";
import { c } from "../../../src/table/columns.ts";

declare const pool: PgPoolLike;
const columns = { id: c.bigint().id(), payload: c.json().payload() };
const Snapshot = inboxTable("snapshot", { columns, isolation: "snapshot" });
const Deferred = inboxTable("deferred", { columns, mode: "deferred" });
const broker = new Broker(fromPg(pool));

// expect: postgres opens no transaction at isolation snapshot; it opens readCommitted, repeatableRead, serializable
broker.route("a", Snapshot.queue());
// expect: postgres opens no transaction in mode deferred; it opens none
broker.route("b", Deferred.queue());
broker.subscribe(
  // expect: postgres opens no transaction at isolation snapshot; it opens readCommitted, repeatableRead, serializable
  Snapshot.queue(),
  () => {},
);
broker.subscribe(
  // expect: postgres opens no transaction in mode deferred; it opens none
  Deferred.queue(),
  { workers: 2 },
  () => {},
);
