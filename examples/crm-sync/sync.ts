import { type Broker, deadLetter, retryAfter } from "intray";
import { everyCustomer, RefusedChanges } from "./tables.ts";

export function subscribeSync(broker: Broker, crm: URL): void {
  broker.subscribe(
    everyCustomer,
    {
      workers: 8,
      maxAttempts: 20,
      deadLetter: RefusedChanges,
      // There the customer is a column like others.
      deadLetterColumns: { customer: "customer" },
    },
    async (change, { group, id, headers, signal }) => {
      const response = await fetch(new URL(`/customers/${group}`, crm), {
        method: "PATCH",
        // The row's headers go along, such as the trace that the change belongs to. By the key the CRM knows a
        // change that it already has.
        headers: { ...headers, "content-type": "application/json", "idempotency-key": `${id}` },
        body: JSON.stringify(change),
        signal,
      });
      const answer = await response.text();
      if (response.ok) return;
      if (response.status === 429 || response.status >= 500) {
        const seconds = Number(response.headers.get("retry-after")) || 10;
        return retryAfter(seconds * 1000);
      }
      return deadLetter(`the CRM answered ${response.status}: ${answer}`);
    },
  );
}
