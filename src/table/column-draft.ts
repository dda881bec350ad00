import { checkKnownKeys, checkWord, isObject, shown } from "../options.ts";
import { playable } from "./column.ts";
import type { ColumnCodec, ColumnType, Fifo, Role } from "./description.ts";
import { roleTypes, sentence } from "./sentences.ts";

/** What a column's builder has gathered. Whatever breaks a rule waits here for the table, which tells all at once. */
export interface Draft {
  readonly type: ColumnType;
  readonly name: string | undefined;
  readonly nullable: boolean;
  readonly generated: "never" | "byDefault" | "always";
  readonly role?: Role;
  readonly fifo: Fifo;
  readonly attemptFrom: 0 | 1;
  readonly codec?: ColumnCodec;
  readonly faults: readonly string[];
}

/** The builder behind `Column`: its types stand there, its values here. */
export class ColumnDraft {
  /** Fits whatever the types say of a column. */
  declare readonly $column: never;
  /** Found by its name: a service may load the library twice, as ESM and as CommonJS, and mix them. */
  readonly $draft: Draft;

  constructor(draft: Draft) {
    this.$draft = draft;
  }

  /** What was gathered; undefined where the value is no column. */
  static read(column: unknown): Draft | undefined {
    return isDrafted(column) ? column.$draft : undefined;
  }

  nullable(): ColumnDraft {
    const fault = this.$draft.role === "id" ? sentence("idNull") : undefined;
    return this.#with({ nullable: true }, fault);
  }

  generated(): ColumnDraft {
    return this.#generated("byDefault");
  }

  generatedAlways(): ColumnDraft {
    return this.#generated("always");
  }

  id(options?: unknown): ColumnDraft {
    const fault = this.$draft.nullable ? sentence("idNull") : undefined;
    return this.#playing("id", options).#with({}, fault);
  }

  group(options?: unknown): ColumnDraft {
    const known = faultOf(() => checkKnownKeys("group()", options ?? {}, ["fifo"]));
    const { fifo = false } = known.value ?? {};
    const word = faultOf(() => checkWord("fifo", String(fifo), ["false", "true", "strict"]));
    const order = word.value === "strict" ? "strict" : word.value === "true" ? "fifo" : "none";
    return this.#as("group").#with({ fifo: order }, known.fault ?? word.fault);
  }

  partitionKey(options?: unknown): ColumnDraft {
    return this.#playing("partitionKey", options);
  }

  priority(options?: unknown): ColumnDraft {
    return this.#playing("priority", options);
  }

  retryAfter(options?: unknown): ColumnDraft {
    return this.#playing("retryAfter", options);
  }

  attempt(options?: unknown): ColumnDraft {
    const known = faultOf(() => checkKnownKeys("attempt()", options ?? {}, ["from", "fifo"]));
    const { from = 1, fifo } = known.value ?? {};
    const isFrom = from === 0 || from === 1;
    const fault =
      known.fault ??
      (fifo === undefined ? undefined : sentence("fifoElsewhere")) ??
      (isFrom ? undefined : `from takes 0 or 1, not ${shown(from)}`);
    return this.#as("attempt").#with({ attemptFrom: isFrom ? from : 1 }, fault);
  }

  lockedUntil(options?: unknown): ColumnDraft {
    return this.#playing("lockedUntil", options).#with({ nullable: true });
  }

  processedAt(options?: unknown): ColumnDraft {
    return this.#playing("processedAt", options).#with({ nullable: true });
  }

  headers(options?: unknown): ColumnDraft {
    return this.#playing("headers", options);
  }

  payload(options?: unknown): ColumnDraft {
    return this.#playing("payload", options);
  }

  #generated(generated: "byDefault" | "always"): ColumnDraft {
    const fault = this.$draft.generated === "never" ? undefined : sentence("generatedTwice");
    return this.#with({ generated }, fault);
  }

  #playing(role: Role, options: unknown): ColumnDraft {
    const known = faultOf(() => checkKnownKeys(`${role}()`, options ?? {}, ["fifo"]));
    const fault = known.value?.fifo === undefined ? known.fault : sentence("fifoElsewhere");
    return this.#as(role).#with({}, fault);
  }

  #as(role: Role): ColumnDraft {
    const { type, role: played } = this.$draft;
    if (played !== undefined) return this.#with({}, sentence("twoRoles", { role: played }));
    const types: readonly ColumnType[] = playable[role];
    const fault = types.includes(type)
      ? undefined
      : sentence("roleType", { type, role, types: roleTypes[role] });
    return this.#with({ role }, fault);
  }

  #with(change: Partial<Draft>, fault?: string): ColumnDraft {
    const faults = fault === undefined ? this.$draft.faults : [...this.$draft.faults, fault];
    return new ColumnDraft({ ...this.$draft, ...change, faults });
  }
}

function isDrafted(value: unknown): value is { readonly $draft: Draft } {
  return isObject(value) && "$draft" in value;
}

/** The value, or the words of what it threw. */
function faultOf<T>(read: () => T): { readonly value?: T; readonly fault?: string } {
  try {
    return { value: read() };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
