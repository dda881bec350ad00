import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

/** A database that has less to offer. */
declare module "../../../src/dialect/databases.ts" {
  interface Databases {
    readonly testdb: {
      readonly forms: readonly ["lease", "advisoryLock"];
      readonly isolations: readonly [];
      readonly modes: readonly ["deferred", "immediate", "exclusive"];
      readonly listenNotify: false;
    };
  }
}

declare const source: ConnectionSource<"testdb">;
const columns = { id: c.bigint().id(), payload: c.json().payload() };
const Locked = inboxTable("locked", { columns });
const Leased = inboxTable("leased", {
  columns: { ...columns, until: c.timestamp().lockedUntil() },
  mode: "deferred",
});

// expect: listenNotify takes a database with notifications; testdb has none
const broker = new Broker(source, { listenNotify: true });
broker.subscribe(Leased.queue(), () => {});
broker.subscribe(
  // expect: rows are held by row lock, which testdb does not do; it does: lease, advisory lock
  Locked.queue(),
  () => {},
);
