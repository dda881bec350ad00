import type { bind } from "../dialect/bind.ts";
import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import type { Connection } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import { isObject, shown } from "../options.ts";
import type { Action } from "./actions.ts";
import { type CustomEvent, callEvent, customEvent, eventError, rowId } from "./custom-events.ts";
import type { FormSettings } from "./form-settings.ts";
import { keyLocks } from "./key-locks.ts";

/**
 * A claim that is more than a statement: events of the service's own take part in it, or locks of the
 * connection's.
 *
 *     claim event --ids--> take: held by the form -->\
 *     the dialect's claim ------------------------> rows --> fetch event --> rows with their columns
 *     keys of rows, locked --> take -------------->/
 *
 * All of it in the claim's transaction: what throws takes the claim back.
 */
export interface ClaimStatements {
  /** Left out where the connection's own locks hold the rows. */
  readonly claim?: Statement;
  readonly take?: Statement;
  readonly candidates?: Statement;
}

export type Bound = (
  statement: Statement,
  values: Readonly<Record<string, unknown>>,
) => ReturnType<typeof bind>;

/** The dialect's claim where that is all. */
export function claimAction(
  settings: FormSettings,
  statements: ClaimStatements,
  bound: Bound,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Action {
  const claim = customEvent(settings, "claim");
  const fetch = customEvent(settings, "fetch");
  const { leaseMs, queueGroup } = settings;
  const isOwnLock = customEvent(settings, "lock") !== undefined;
  const own =
    isOwnLock || statements.claim === undefined
      ? undefined
      : bound(statements.claim, { limit, leaseMs, group: queueGroup ?? null, after });
  if (own !== undefined && claim === undefined && fetch === undefined) return own;
  return {
    kind: "call",
    async run(connection) {
      const rows =
        claim !== undefined
          ? await claimByIds(settings, statements, bound, connection, claim, limit)
          : own === undefined
            ? await claimByKeys(settings, statements, bound, connection, limit)
            : await query<ClaimedRow>(connection, own);
      const whole =
        fetch === undefined || rows.length === 0
          ? rows
          : await fetched(settings, connection, fetch, rows);
      return { rows: whole.map((row) => ({ ...row })), rowCount: whole.length };
    },
  };
}

async function claimByIds(
  settings: FormSettings,
  { take }: ClaimStatements,
  bound: Bound,
  connection: Connection,
  claim: CustomEvent,
  limit: number,
): Promise<readonly ClaimedRow[]> {
  const { dialect, leaseMs, queueGroup, table } = settings;
  const { group: column } = table.roles;
  const group =
    column === undefined || queueGroup === undefined
      ? undefined
      : dialect.types[column.type].decode(queueGroup);
  const answer = await callEvent(settings, "claim", claim, connection, [{ group, limit }]);
  if (!Array.isArray(answer)) {
    throw eventError(settings, "claim", `it answers a list of ids, not ${shown(answer)}`);
  }
  const ids = new Set(answer.map((id) => rowId(settings, "claim", id)));
  if (ids.size > limit) {
    throw eventError(settings, "claim", `it was to claim ${limit} rows and named ${ids.size}`);
  }
  if (ids.size === 0 || take === undefined) return [];
  const held = { group: queueGroup ?? null, ids: dialect.list([...ids]), leaseMs };
  const rows = await query<ClaimedRow>(connection, bound(take, held));
  // A collation, or a decimal's zeros, may make two names of one row.
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** Tries keys in the order of their rows, and reads on behind those that are held. */
async function claimByKeys(
  settings: FormSettings,
  { candidates, take }: ClaimStatements,
  bound: Bound,
  connection: Connection,
  limit: number,
): Promise<readonly ClaimedRow[]> {
  const { dialect, queueGroup } = settings;
  const locks = keyLocks(settings, connection);
  const group = queueGroup ?? null;
  const rows: (ClaimedRow & { readonly lock: string })[] = [];
  const tried = new Set(await locks.held());
  while (rows.length < limit && candidates !== undefined && take !== undefined) {
    const values = { group, limit, keys: dialect.list([...tried]) };
    const found = await query<{ id: string; key: string }>(connection, bound(candidates, values));
    // A key that comes though it was named is text that does not survive the driver.
    if (found.every(({ key }) => tried.has(key))) break;
    for (const { id, key } of found) {
      if (rows.length === limit) break;
      tried.add(key);
      if (!(await locks.tryLock(key))) continue;
      const ids = dialect.list([id]);
      const [row] = await query<ClaimedRow>(connection, bound(take, { group, ids, key }));
      if (row !== undefined) rows.push({ ...row, lock: key });
      else await locks.unlock(key);
    }
  }
  return rows;
}

/** Rows with the columns that the event gave for them; one that it gave nothing for has none. */
async function fetched(
  settings: FormSettings,
  connection: Connection,
  fetch: CustomEvent,
  rows: readonly ClaimedRow[],
): Promise<readonly ClaimedRow[]> {
  const { claim, dialect, fetched: columns = [], table } = settings;
  const { id } = table.roles;
  // A message may call the id by a name of its own.
  const idColumn = (table.message?.roles.id ?? id)?.name ?? "id";
  const ids = rows.map((row) =>
    id === undefined ? row.id : dialect.types[id.type].decode(row.id),
  );
  const answer = await callEvent(settings, "fetch", fetch, connection, [ids]);
  if (!Array.isArray(answer) || !answer.every(isObject)) {
    throw eventError(settings, "fetch", `it answers a list of rows, not ${shown(answer)}`);
  }
  const byId = new Map<string, object>();
  for (const raw of answer) {
    byId.set(rowId(settings, "fetch", Reflect.get(raw, idColumn), idColumn), raw);
  }
  return rows.map((row) => {
    const raw = byId.get(rowId(settings, "fetch", row.id, idColumn));
    if (raw === undefined) return row;
    const cells = columns.map(({ name }, index) => [
      `c${claim.columns.length + index}`,
      Reflect.get(raw, name),
    ]);
    return { ...row, ...Object.fromEntries(cells) };
  });
}

async function query<Row>(
  connection: Connection,
  step: ReturnType<typeof bind>,
): Promise<readonly Row[]> {
  const [result] = await runSteps<Row>(connection, [step]);
  return result?.rows ?? [];
}
