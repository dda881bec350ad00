import { bind } from "../dialect/bind.ts";
import { type Handling, handleInTransaction } from "../form/transactional-handling.ts";
import type { InboxContext } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";
import type { InboxHandler, InboxMessage } from "./types.ts";

/** One message through its handler: its writes and its completion commit together. */
export function handle(
  context: InboxContext,
  delivery: InboxDelivery,
  message: InboxMessage,
  handler: InboxHandler,
  stop: AbortSignal,
): Promise<Handling<void>> {
  const { dialect, options, source, statements } = context;
  const settings = {
    source,
    errors: dialect.errors,
    placeholder: dialect.placeholder,
    begin: dialect.begin,
    prepare: options.prepareStatements,
    clock: options.clock,
    patienceMs: options.leaseMs,
  };
  const { id, token } = delivery;
  const task = {
    run: async (tx: Parameters<InboxHandler>[1]) => {
      await handler(message, tx, delivery.signal);
    },
    completion: async () => [bind(statements.completeOrFail, { id, token })],
  };
  return handleInTransaction(settings, delivery, task, stop);
}
