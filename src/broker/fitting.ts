import type { DatabaseFacts, FactsOfDatabase } from "../dialect/databases.ts";
import type { FormName, IsolationLevel } from "../table/description.ts";
import type { formWords, Joined } from "../table/option-words.ts";
import type { Queue } from "../table/queue.ts";
import type { Sentence } from "../table/sentences.ts";
import type { EventDatabases, TableFacts } from "../table/table-facts.ts";

/**
 * A queue whose table the broker's database can serve, and the rule's sentence in its place where it cannot.
 * Of names, and of databases that the types do not know, the run-time check alone tells.
 */
export type FittingQueue<Of extends Queue | string, Database extends string> = Of extends Queue
  ? [Fault<Of["$table"], Database>] extends [never]
    ? Of
    : Fault<Of["$table"], Database>
  : Of;

type Fault<Facts extends TableFacts, Database extends string> =
  | FactsFault<Facts, Database>
  | EventFault<Facts["custom"], Database>;

type FactsFault<Facts extends TableFacts, Database extends string> =
  FactsOfDatabase<Database> extends infer Known extends DatabaseFacts
    ?
        | FormFault<Facts["form"], Known, Database>
        | LevelFault<Facts["isolation"], Known, Database>
        | RowLockLevelFault<Facts["form"], Facts["isolation"], Known, Database>
        | ModeFault<Facts["mode"], Known, Database>
    : never;

type FormFault<
  Form extends TableFacts["form"],
  Known extends DatabaseFacts,
  Database extends string,
> = [Form & Known["forms"][number]] extends [never]
  ? Sentence<
      "noForm",
      { database: Database; form: FormWords[Form]; forms: Joined<InWords<Known["forms"]>> }
    >
  : never;

type FormWords = typeof formWords;
type InWords<Forms extends readonly FormName[]> = { [At in keyof Forms]: FormWords[Forms[At]] };

type LevelFault<
  Level extends string,
  Known extends DatabaseFacts,
  Database extends string,
> = Level extends Known["isolations"][number]
  ? never
  : string extends Level
    ? never
    : Sentence<
        "noIsolation",
        { database: Database; isolation: Level; levels: Joined<Known["isolations"]> }
      >;

/** Of a level that the database does open, where the claim of a row lock does not. */
type RowLockLevelFault<
  Form extends TableFacts["form"],
  Level extends string,
  Known extends DatabaseFacts,
  Database extends string,
> = Form extends "rowLock"
  ? Known extends {
      readonly rowLockIsolations: infer Levels extends readonly IsolationLevel[];
    }
    ? Level extends Exclude<Known["isolations"][number], Levels[number]>
      ? Sentence<
          "noRowLockIsolation",
          { database: Database; isolation: Level; levels: Joined<Levels> }
        >
      : never
    : never
  : never;

type ModeFault<
  Mode extends string,
  Known extends DatabaseFacts,
  Database extends string,
> = Mode extends Known["modes"][number]
  ? never
  : string extends Mode
    ? never
    : Sentence<"noMode", { database: Database; mode: Mode; modes: Joined<Known["modes"]> }>;

type EventFault<Written extends EventDatabases, Database extends string> = string extends Database
  ? never
  : Written extends EventDatabases
    ? string extends Written["databases"]
      ? never
      : Database extends Written["databases"]
        ? never
        : Sentence<"customDatabase", { event: Written["event"]; database: Database }>
    : never;

/** The option `listenNotify`. */
export type Listening<Database extends string> =
  FactsOfDatabase<Database> extends { readonly listenNotify: false }
    ? false | Sentence<"noListening", { database: Database }>
    : boolean;
