import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

declare const source: ConnectionSource<"sqlserver">;
const columns = { id: c.bigint().id(), payload: c.json().payload() };
const leased = { ...columns, lease: c.timestamp().nullable().lockedUntil() };
const Strict = inboxTable("strict", { columns, isolation: "serializable" });
const Steady = inboxTable("steady", { columns, isolation: "repeatableRead" });
const Leased = inboxTable("leased", { columns: leased, isolation: "snapshot" });
const Deferred = inboxTable("deferred", { columns: leased, mode: "deferred" });
const broker = new Broker(source);

// These it opens.
broker.route("a", Steady.queue());
broker.route("b", Leased.queue());
// expect: the row lock claim opens no transaction at isolation serializable on sqlserver; it opens readCommitted, repeatableRead
broker.route("c", Strict.queue());
// expect: sqlserver opens no transaction in mode deferred; it opens none
broker.route("d", Deferred.queue());
