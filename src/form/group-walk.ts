import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import type { Connection } from "../driver/connection.ts";
import { runActions } from "./actions.ts";
import type { TableEvents } from "./table-events.ts";

/**
 * How far the claims of `everyGroup()` have come on their way round the groups. One claim does not look at all of
 * them where there are many; so the next one begins behind a group that it has looked at:
 *
 *     claim behind `after` --rows--> behind the group of one of them
 *                          \-none--> behind the last group that it looked at, where there are more
 *
 * Each is a step on, by a group at least, so that every group comes into view. Of two claims at once the one that
 * ends later must not set the other back: it moves nothing.
 */
export class GroupWalk {
  readonly #events: Pick<TableEvents, "bound">;
  readonly #walkedTo: Statement | undefined;
  #after: string | null = null;
  #steps = 0;

  /** Without a statement that says how far a claim has looked, each looks at all groups. */
  constructor(events: Pick<TableEvents, "bound">, walkedTo: Statement | undefined) {
    this.#events = events;
    this.#walkedTo = walkedTo;
  }

  /** Where a claim begins that is made now. */
  get position(): GroupPosition {
    return { after: this.#after, step: this.#steps };
  }

  /** A claim from there has answered these rows. */
  claimed(from: GroupPosition, [row]: readonly ClaimedRow[]): void {
    if (this.#walkedTo !== undefined) this.#goOn(from, row?.group);
  }

  /** A claim from there has answered none. On its connection, in no transaction. */
  async foundNothing(from: GroupPosition, connection: Connection): Promise<void> {
    if (this.#walkedTo === undefined) return;
    const look = this.#events.bound(this.#walkedTo, { after: from.after });
    const [last] = await runActions<{ group: string }>(connection, [look]);
    this.#goOn(from, last?.rows[0]?.group);
  }

  #goOn({ step }: GroupPosition, group: string | null | undefined): void {
    if (group === null || group === undefined || step !== this.#steps) return;
    this.#after = group;
    this.#steps += 1;
  }
}

export interface GroupPosition {
  /** The group behind which a claim begins, as text; null: with the first one. */
  readonly after: string | null;
  /** How many steps led there. */
  readonly step: number;
}
