import { RouteError } from "../errors.ts";
import { shown } from "../options.ts";

/** Which queue a name leads to: exact names first, then the longest prefix. */
export class Routes<Queue> {
  readonly #exact = new Map<string, Queue>();
  readonly #prefixes = new Map<string, Queue>();

  /**
   * @param pattern a name, or the start of one with `*` behind it; `*` alone takes every name.
   * @throws TypeError for a pattern of another form, RouteError for one that leads somewhere already.
   */
  add(pattern: string, queue: Queue): void {
    const isPrefix = typeof pattern === "string" && pattern.endsWith("*");
    const name = isPrefix ? pattern.slice(0, -1) : pattern;
    if (typeof name !== "string" || name.includes("*") || (name === "" && !isPrefix)) {
      throw new TypeError(
        `a route takes a name such as "signups", or a prefix such as "mail.*", not ${shown(pattern)}`,
      );
    }
    const routes = isPrefix ? this.#prefixes : this.#exact;
    if (routes.has(name)) {
      throw new RouteError(`"${pattern}" leads to a queue already; a name has one route`);
    }
    routes.set(name, queue);
  }

  /** @throws RouteError that says how to add one, where no route leads from the name. */
  find(name: string): Queue {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return exact;
    for (let length = name.length; length >= 0; length -= 1) {
      const queue = this.#prefixes.get(name.slice(0, length));
      if (queue !== undefined) return queue;
    }
    const known = [...this.#exact.keys(), ...[...this.#prefixes.keys()].map((each) => `${each}*`)];
    const there =
      known.length === 0 ? "" : ` There are routes from ${known.slice(0, 20).join(", ")}.`;
    throw new RouteError(
      `no route leads from "${name}": add one with broker.route("${name}", queue), or publish to the queue itself.${there}`,
    );
  }
}
