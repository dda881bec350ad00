import { TransactionError } from "../errors.ts";
import type { GuardedClient } from "./connection.ts";
import { transactionControl } from "./transaction-control.ts";

/** What of PGlite's transaction a handler may use. */
export interface GuardedPglite {
  query(text: string, params?: unknown[], options?: unknown): Promise<unknown>;
  exec(text: string, options?: unknown): Promise<unknown>;
  sql(strings: TemplateStringsArray, ...values: unknown[]): Promise<unknown>;
}

/** What it leads to: PGlite's own transaction object. */
interface PgliteQuerying {
  query(text: string, params?: unknown[], options?: unknown): Promise<unknown>;
  exec(text: string, options?: unknown): Promise<unknown>;
}

/**
 * PGlite's transaction for a handler: the same queries, and nothing that ends it. PGlite nests no
 * transactions, so BEGIN is refused too; savepoints are the handler's.
 */
export function guardPglite(
  target: () => PgliteQuerying,
  open: () => Promise<void>,
): GuardedClient & { readonly client: GuardedPglite } {
  let closed: Error | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const run = (text: string, send: () => Promise<unknown>): Promise<unknown> => {
    const refusal = closed ?? refusalOf(text);
    // In order, and what was taken before the end still runs.
    const answer =
      refusal === undefined ? last.then(open).then(send) : Promise.reject<unknown>(refusal);
    const settled = answer.catch(() => {});
    if (refusal === undefined) last = settled;
    return answer;
  };
  const client: GuardedPglite = Object.freeze({
    query: (text, params, options) => run(text, () => target().query(text, params, options)),
    exec: (text, options) => run(text, () => target().exec(text, options)),
    sql(strings, ...values) {
      const text = strings.reduce((sql, part, index) => `${sql}$${index}${part}`);
      return run(text, () => target().query(text, values));
    },
  } satisfies GuardedPglite);
  return {
    client,
    close(reason) {
      closed ??= reason;
    },
    async settled() {
      await last;
    },
  };
}

function refusalOf(text: string): Error | undefined {
  const control = transactionControl(text);
  if (control === undefined) return undefined;
  return new TransactionError(
    `${control} is refused here: the transaction ends with the handler. Return to commit, throw to roll back.`,
  );
}
