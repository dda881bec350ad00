import { withConnection } from "../driver/checkout.ts";
import type { Extension } from "../engine/lease-keeper.ts";
import { runAlone } from "./actions.ts";
import { type ExtendedRow, extendByEvent } from "./custom-extension.ts";
import type { LeaseContext } from "./lease-context.ts";
import type { LeaseDelivery, LeasedRow } from "./lease-delivery.ts";

/** Extends the leases of all rows that are held, in one statement that waits for nobody's lock. */
export async function extendLeases(
  context: LeaseContext,
  deliveries: readonly LeaseDelivery[],
  signal: AbortSignal,
): Promise<ReadonlyMap<LeaseDelivery, Extension>> {
  const rows = deliveries.flatMap(({ leased }) => leased.filter(({ state }) => state === "held"));
  const extending =
    rows.length === 0 ? Promise.resolve(NOTHING) : sendExtension(context, rows, signal);
  const over = extending.then(
    () => {},
    () => {},
  );
  for (const delivery of deliveries) delivery.extension = over;
  try {
    const outcomes = await extending;
    return new Map(
      deliveries.map((each) => [each, extensionOf(each, outcomes, context.settings.transactional)]),
    );
  } finally {
    for (const delivery of deliveries) delivery.extension = undefined;
  }
}

type Outcomes = ReadonlyMap<LeasedRow, Extension>;

const NOTHING: Outcomes = new Map();

/** Sends the statement, and gives the rows their new tokens. */
async function sendExtension(
  { events, settings, statements }: LeaseContext,
  rows: readonly LeasedRow[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const { leaseMs, source } = settings;
  const answers = await withConnection(source, signal, async (connection) => {
    const own = extendByEvent(settings, statements, events, connection, rows);
    if (own !== undefined) return byId(await own);
    const action = events.bound(statements.extend, { ...events.fence(rows), leaseMs });
    const results = await runAlone<ExtendedRow>(connection, settings.dialect, [action]);
    return byId(results[0]?.rows ?? []);
  });
  const outcomes = new Map<LeasedRow, Extension>();
  for (const row of rows) {
    const answer = answers.get(row.id);
    outcomes.set(row, answer?.outcome ?? "lost");
    if (answer?.outcome === "extended") row.token = answer.token;
  }
  return outcomes;
}

function byId(rows: readonly ExtendedRow[]): ReadonlyMap<string, ExtendedRow> {
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * What a round means for a delivery. A row that was lost costs a batch only itself, unless one
 * transaction stands for all of them. Where any row's extension is in doubt, the deadline of all stays.
 */
function extensionOf(
  delivery: LeaseDelivery,
  outcomes: Outcomes,
  transactional: boolean,
): Extension {
  const live = delivery.leased.filter(({ state }) => state !== "over");
  // The transaction that has locked its rows holds them, whatever the lease says.
  if (live.every(({ state }) => state === "locked")) return "extended";
  const lost = live.filter((row) => outcomes.get(row) === "lost" && row.state === "held");
  if (lost.length === live.length || (transactional && lost.length > 0)) return "lost";
  const isDoubtful = live.some((row) => !lost.includes(row) && outcomes.get(row) !== "extended");
  return isDoubtful ? "locked" : "extended";
}
