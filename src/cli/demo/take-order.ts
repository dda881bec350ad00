import type { InboxHandler } from "../../queuebox/types.ts";
import type { Shop } from "./shop.ts";

/**
 * The demo's handler: adds what a message is worth to its order, in the transaction in which the
 * message is completed. It reads the payload in SQL, so that no amount is rounded on its way. A
 * message may ask for failures by its header `demo-fail`.
 */
export function takeOrder(shop: Shop): InboxHandler<string> {
  const statement = addToOrder(shop);
  return async (message, tx) => {
    await tx.query(statement, [
      message.payload,
      message.aggregateId ?? message.idempotencyKey,
      message.eventType?.split(".").at(-1) ?? "received",
    ]);
    // After the write, to show that nothing of it stays.
    const failures = message.headers["demo-fail"];
    if (failures === "always") throw new Error("the payment provider refuses this order");
    if (failures !== undefined && message.attempt < Number(failures)) {
      throw new Error(
        `the payment provider did not answer (${message.attempt + 1} of ${failures})`,
      );
    }
  };
}

/** Parameters: the payload as text, what to call the order where the payload does not say, the status. */
function addToOrder({ name }: Shop): string {
  return `INSERT INTO ${name}.orders AS o (id, status, messages, total)
SELECT coalesce(m.payload ->> 'orderId', m.payload ->> 'id', $2::text), $3::text, 1,
  CASE
    WHEN m.payload ->> 'total' ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$' THEN (m.payload ->> 'total')::numeric
    WHEN jsonb_typeof(m.payload -> 'lines') = 'array' THEN (
      SELECT coalesce(sum((l ->> 'quantity')::numeric * (l ->> 'unitPrice')::numeric), 0)
      FROM jsonb_array_elements(m.payload -> 'lines') AS l
      WHERE jsonb_typeof(l -> 'quantity') = 'number' AND jsonb_typeof(l -> 'unitPrice') = 'number'
    )
    ELSE 0
  END
FROM (SELECT $1::text::jsonb AS payload) AS m
ON CONFLICT (id) DO UPDATE
SET status = excluded.status, messages = o.messages + 1, total = o.total + excluded.total`;
}
