import type { bind } from "../dialect/bind.ts";
import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import type { Connection } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import { isObject, shown } from "../options.ts";
import type { Call } from "./actions.ts";
import {
  type CustomEvent,
  callEvent,
  customEvent,
  eventError,
  rowId,
  yesOrNo,
} from "./custom-events.ts";
import type { FormSettings } from "./form-settings.ts";

/**
 * A claim that events of the service's own take part in:
 *
 *     claim event --ids--> take: held by the form -->\
 *     the dialect's claim ------------------------> rows --> fetch event --> rows with their columns
 *     keys of rows, lock event --> take ---------->/
 *
 * All of it in the claim's transaction: what throws takes the claim back.
 */
export interface ClaimStatements {
  readonly claim: Statement;
  readonly take?: Statement;
  readonly candidates?: Statement;
}

export type Bound = (
  statement: Statement,
  values: Readonly<Record<string, unknown>>,
) => ReturnType<typeof bind>;

/** Undefined where no event takes part: then the dialect's claim is all. */
export function claimWithEvents(
  settings: FormSettings,
  statements: ClaimStatements,
  bound: Bound,
  limit: number,
): Call | undefined {
  const claim = customEvent(settings, "claim");
  const fetch = customEvent(settings, "fetch");
  const lock = customEvent(settings, "lock");
  if (claim === undefined && fetch === undefined && lock === undefined) return undefined;
  const { leaseMs, queueGroup } = settings;
  const values = { limit, leaseMs, group: queueGroup ?? null };
  return {
    kind: "call",
    async run(connection) {
      const rows =
        claim !== undefined
          ? await claimByIds(settings, statements, bound, connection, claim, limit)
          : lock !== undefined
            ? await claimByKeys(settings, statements, bound, connection, lock, limit)
            : await query<ClaimedRow>(connection, bound(statements.claim, values));
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
  return await query(connection, bound(take, held));
}

/** Tries keys in the order of their rows, and reads on behind those that are held. */
async function claimByKeys(
  settings: FormSettings,
  { candidates, take }: ClaimStatements,
  bound: Bound,
  connection: Connection,
  lock: CustomEvent,
  limit: number,
): Promise<readonly ClaimedRow[]> {
  const { dialect, queueGroup } = settings;
  const unlock = customEvent(settings, "unlock");
  const group = queueGroup ?? null;
  const rows: (ClaimedRow & { readonly lock: string })[] = [];
  const tried: string[] = [];
  while (rows.length < limit && candidates !== undefined && take !== undefined) {
    const values = { group, limit, keys: dialect.list(tried) };
    const found = await query<{ id: string; key: string }>(connection, bound(candidates, values));
    if (found.length === 0) break;
    for (const { id, key } of found) {
      if (rows.length === limit) break;
      tried.push(key);
      if (!(await yesOrNo(settings, "lock", lock, connection, [key]))) continue;
      const ids = dialect.list([id]);
      const [row] = await query<ClaimedRow>(connection, bound(take, { group, ids, key }));
      if (row !== undefined) rows.push({ ...row, lock: key });
      else if (unlock !== undefined) await unlockByEvent(settings, unlock, connection, key);
    }
  }
  return rows;
}

/**
 * Releases a key by the service's own event.
 *
 * @throws CustomEventError also where the key was not held.
 */
async function unlockByEvent(
  settings: FormSettings,
  event: CustomEvent,
  connection: Connection,
  key: string,
): Promise<void> {
  if (await yesOrNo(settings, "unlock", event, connection, [key])) return;
  throw eventError(settings, "unlock", `it says of ${shown(key)} that the lock was not held`);
}

/**
 * Releases all keys by the service's own event, each whatever became of the others; answers what failed.
 * Undefined where the service has no such event.
 */
export function unlockAllByEvent(
  settings: FormSettings,
  connection: Connection,
  keys: readonly string[],
): Promise<readonly unknown[]> | undefined {
  const event = customEvent(settings, "unlock");
  if (event === undefined) return undefined;
  const run = async () => {
    const failures: unknown[] = [];
    for (const key of keys) {
      await unlockByEvent(settings, event, connection, key).catch((error: unknown) => {
        failures.push(error);
      });
    }
    return failures;
  };
  return run();
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
