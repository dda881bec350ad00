import { describe, expect, test } from "vitest";
import { inboxHeaders, inboxMessage } from "../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { TableError } from "../../src/errors.ts";
import { playable } from "../../src/table/column.ts";
import { c } from "../../src/table/columns.ts";
import { describeTable } from "../../src/table/describe.ts";
import { listed } from "../../src/table/option-words.ts";
import { roleTypes } from "../../src/table/sentences.ts";

/** The lines of what a description throws; the rules that it breaks. */
function faults(describe: () => unknown): string[] {
  try {
    describe();
  } catch (error) {
    expect(error).toBeInstanceOf(TableError);
    return error instanceof TableError ? error.message.split("\n") : [];
  }
  throw new Error("the description was taken");
}

// A JavaScript user's view of it: nothing is checked before it runs.
// biome-ignore lint/suspicious/noExplicitAny: see above.
const js = c as any;
const id = () => c.bigint().id();
const described = (options: unknown, name: unknown = "jobs") =>
  faults(() => describeTable(name, options));

describe("1-5: a description", () => {
  test("is plain data", () => {
    const EmailJobs = inboxTable("email_jobs", {
      schema: "app",
      columns: {
        jobId: c.bigint("job_id").id().generated(),
        name: c.text().group(),
        attempt: c.smallint().attempt({ from: 0 }).generated(),
        lockedUntil: c.timestamp("locked_until").lockedUntil(),
        payload: c.bytes().payload(),
        note: c.text().nullable(),
        sum: c.decimal().generatedAlways(),
      },
    });
    const { description } = EmailJobs;
    expect(description).toMatchObject({
      name: "email_jobs",
      schema: "app",
      form: "lease",
      fifo: "none",
      attemptFrom: 0,
      clock: "database",
    });
    expect(description.columns.map(({ property, name }) => [property, name])).toEqual([
      ["jobId", "job_id"],
      ["name", "name"],
      ["attempt", "attempt"],
      ["lockedUntil", "locked_until"],
      ["payload", "payload"],
      ["note", "note"],
      ["sum", "sum"],
    ]);
    expect(description.roles.id).toBe(description.columns[0]);
    expect(description.roles.payload).toBe(description.columns[4]);
    // A lease's end can be null, whatever the description says of it.
    expect(description.roles.lockedUntil?.nullable).toBe(true);
    expect(description.columns.map(({ generated }) => generated)).toEqual([
      "byDefault",
      "never",
      "byDefault",
      "never",
      "never",
      "never",
      "always",
    ]);
    expect(JSON.parse(JSON.stringify(EmailJobs.describe()))).toEqual(EmailJobs.describe());
  });

  test("13: describe() answers what JSON can hold, functions and all", () => {
    const Jobs = inboxTable("jobs", {
      advisoryLock: "jobs-{id}",
      clock: () => new Date(),
      columns: { id: id(), area: c.custom({ decode: Number, encode: String }) },
      custom: { ack: async () => {}, fetch: { postgres: async () => [] } },
    });
    expect(Jobs.describe()).toEqual({
      name: "jobs",
      form: "advisoryLock",
      advisoryLock: "jobs-{id}",
      fifo: "none",
      attemptFrom: 1,
      clock: "function",
      custom: { ack: true, fetch: ["postgres"] },
      columns: [
        {
          property: "id",
          name: "id",
          type: "bigint",
          nullable: false,
          generated: "never",
          role: "id",
        },
        { property: "area", name: "area", type: "custom", nullable: false, generated: "never" },
      ],
    });
  });

  test("is not changed by what its builders go through afterwards", () => {
    const column = c.text();
    const Jobs = describeTable("jobs", { columns: { id: id(), column } });
    column.nullable();
    expect(Jobs.columns[1]?.nullable).toBe(false);
    expect(Object.isFrozen(Jobs.columns)).toBe(true);
  });

  test.each([
    [{}, "none"],
    [{ fifo: false }, "none"],
    [{ fifo: true }, "fifo"],
    [{ fifo: "strict" }, "strict"],
  ] as const)("45, 46: group(%o)", (options, fifo) => {
    const columns = { id: id(), kind: js.text().group(options) };
    expect(describeTable("jobs", { columns }).fifo).toBe(fifo);
  });

  test("7: the parts of a lock key", () => {
    const columns = { jobId: c.bigint("job_id").id(), kind: c.text() };
    const { lockKey, form } = describeTable("jobs", {
      columns,
      advisoryLock: "jobs-{kind}/{jobId}",
    });
    expect(form).toBe("advisoryLock");
    expect(lockKey?.map((part) => ("text" in part ? part.text : part.column.name))).toEqual([
      "jobs-",
      "kind",
      "/",
      "job_id",
    ]);
  });
});

describe("6: names", () => {
  test.each([
    ["snake_case", "locked_until", "http_url", "id2_of"],
    ["SCREAMING_SNAKE_CASE", "LOCKED_UNTIL", "HTTP_URL", "ID2_OF"],
    ["camelCase", "lockedUntil", "httpUrl", "id2Of"],
    ["PascalCase", "LockedUntil", "HttpUrl", "Id2Of"],
    ["kebab-case", "locked-until", "http-url", "id2-of"],
    ["lowercase", "lockeduntil", "httpurl", "id2of"],
    ["UPPERCASE", "LOCKEDUNTIL", "HTTPURL", "ID2OF"],
    [undefined, "lockedUntil", "HTTPUrl", "id2Of"],
  ])("casing %s", (casing, ...names) => {
    const columns = {
      lockedUntil: id(),
      HTTPUrl: c.text(),
      id2Of: c.text(),
      given: c.text("As Is"),
    };
    const { columns: found } = describeTable("jobs", { columns, ...(casing && { casing }) });
    expect(found.map(({ name }) => name)).toEqual([...names, "As Is"]);
  });

  test("spaces and quotes are part of a name", () => {
    const Odd = inboxTable('Odd "table"', {
      schema: "My schema",
      columns: { id: c.bigint('the "id"; --').id() },
    });
    const [create = ""] = Odd.ddl("postgres");
    expect(create).toContain('"My schema"."Odd ""table"""');
    expect(create).toContain('"the ""id""; --"');
  });

  test("63 bytes are the most on PostgreSQL, wherever the name stands", () => {
    const fits = "é".repeat(31);
    const Fits = inboxTable(fits, { columns: { id: c.bigint("x".repeat(63)).id() } });
    expect(Fits.ddl("postgres")[0]).toContain(fits);
    const Long = inboxTable("é".repeat(32), {
      schema: "s".repeat(64),
      columns: { id: c.bigint("x".repeat(64)).id() },
    });
    const lines = faults(() => Long.ddl("postgres"));
    expect(lines.map((line) => line.replace(/^.*: the (\w+) "[^"]*"/, "$1"))).toEqual([
      "table has 64 bytes, and a name in postgres has 63 at most",
      "schema has 64 bytes, and a name in postgres has 63 at most",
      "column has 64 bytes, and a name in postgres has 63 at most",
    ]);
  });
});

describe("B: refused at run time, in the words of the types", () => {
  const table = (fault: string) => [`table jobs: ${fault}`];
  const column = (name: string, fault: string) => [`table jobs: column ${name}: ${fault}`];

  test.each<[string, () => string[], string[]]>([
    [
      "no id",
      () => described({ columns: { a: c.text() } }),
      table("a table needs one id column: mark it with id()"),
    ],
    [
      "two ids",
      () => described({ columns: { a: id(), b: id() } }),
      column("b", "another column is the id too: one column plays a role"),
    ],
    [
      "a role twice",
      () => described({ columns: { a: id(), b: c.text().group(), d: c.text().group() } }),
      column("d", "another column is the group too: one column plays a role"),
    ],
    [
      "two payloads",
      () => described({ columns: { a: id(), b: c.text().payload(), d: c.json().payload() } }),
      column("d", "another column is the payload too: one column plays a role"),
    ],
    [
      "two roles",
      () => described({ columns: { a: id(), b: js.text().group().partitionKey() } }),
      column("b", "a column plays one role, and this one is the group already"),
    ],
    [
      "a name twice",
      () => described({ columns: { a: id(), b: c.text("a") } }),
      column("b", "another column is named a too: give one of them another name"),
    ],
    [
      "an empty column name",
      () => described({ columns: { a: id(), b: c.text("") } }),
      column("b", "a column cannot have an empty name"),
    ],
    [
      "a NUL",
      () => described({ columns: { a: id(), b: c.text("b\0") } }),
      column("b", "a column cannot have a NUL character in its name"),
    ],
    [
      "generated twice",
      () => described({ columns: { a: js.bigint().generated().id().generatedAlways() } }),
      column("a", "generated() or generatedAlways() stands once on a column"),
    ],
    [
      "a null id",
      () => described({ columns: { a: js.bigint().id().nullable() } }),
      column("a", "an id cannot be null"),
    ],
    [
      "an id of null",
      () => described({ columns: { a: js.bigint().nullable().id() } }),
      column("a", "an id cannot be null"),
    ],
    [
      "fifo elsewhere",
      () => described({ columns: { a: id(), b: js.text().partitionKey({ fifo: true }) } }),
      column("b", "fifo is an option of group() alone"),
    ],
    [
      "fifo on attempt",
      () => described({ columns: { a: id(), b: js.integer().attempt({ fifo: true }) } }),
      column("b", "fifo is an option of group() alone"),
    ],
    [
      "a role on another type",
      () => described({ columns: { a: id(), b: js.text().priority() } }),
      column(
        "b",
        "a column of type text cannot be the priority: that takes smallint, integer or bigint",
      ),
    ],
    [
      "lock and lease",
      () =>
        described({ columns: { a: id(), b: c.timestamp().lockedUntil() }, advisoryLock: "{a}" }),
      table("advisoryLock and lockedUntil() are two forms: keep one of them"),
    ],
    [
      "lock and fifo",
      () =>
        described({ columns: { a: id(), b: c.text().group({ fifo: true }) }, advisoryLock: "{a}" }),
      table(
        "advisoryLock and group({ fifo }) do not go together: take fifo away and write the group into the key, as in jobs-{b}",
      ),
    ],
    [
      "an unknown placeholder",
      () => described({ columns: { a: id() }, advisoryLock: "{b}" }),
      table("advisoryLock has a placeholder {b}, and there is no such property in columns"),
    ],
    [
      "placeholders of types without one text",
      () =>
        described({
          columns: { a: id(), b: c.json(), d: c.custom({ decode: Number, encode: String }) },
          advisoryLock: "{a}{b}{d}",
        }),
      ["b} of type json", "d} of type custom"].flatMap((what) =>
        table(
          `advisoryLock has a placeholder {${what}, whose values have no one text: name a column of another type`,
        ),
      ),
    ],
    [
      "an empty placeholder",
      () => described({ columns: { a: id() }, advisoryLock: "x{}" }),
      table("advisoryLock has an empty placeholder: name a property of columns between the braces"),
    ],
    ...["{a", "a}", "{{a}", "{a}}", "{a}{"].map((lock): [string, () => string[], string[]] => [
      `the braces of ${lock}`,
      () => described({ columns: { a: id() }, advisoryLock: lock }),
      table("advisoryLock has a brace without its other half"),
    ]),
    [
      "an empty lock",
      () => described({ columns: { a: id() }, advisoryLock: "" }),
      table("advisoryLock cannot be empty"),
    ],
    [
      "a dot in the table",
      () => described({ columns: { a: id() } }, "app.jobs"),
      ["table app.jobs: a table cannot have a dot in its name: schema and table are two settings"],
    ],
    [
      "a dot in the schema",
      () => described({ columns: { a: id() }, schema: "a.b" }),
      ["table a.b.jobs: a schema cannot have a dot in its name: schema and table are two settings"],
    ],
    [
      "an empty table",
      () => described({ columns: { a: id() } }, ""),
      ["table : a table cannot have an empty name"],
    ],
    [
      "an unknown isolation",
      () => described({ columns: { a: id() }, isolation: "high" }),
      table(
        'isolation takes readUncommitted, readCommitted, repeatableRead, serializable or snapshot, not "high"',
      ),
    ],
    [
      "an unknown mode",
      () => described({ columns: { a: id() }, mode: "fast" }),
      table('mode takes deferred, immediate or exclusive, not "fast"'),
    ],
    [
      "both",
      () => described({ columns: { a: id() }, mode: "deferred", isolation: "snapshot" }),
      table("isolation and mode do not go together: mode is for SQLite, isolation for the others"),
    ],
    [
      "an unknown casing",
      () => described({ columns: { a: id() }, casing: "snake" }),
      table(
        'casing takes snake_case, SCREAMING_SNAKE_CASE, camelCase, PascalCase, kebab-case, lowercase or UPPERCASE, not "snake"',
      ),
    ],
    [
      "claim and lock",
      () => described({ columns: { a: id() }, advisoryLock: "{a}", custom: { claim() {} } }),
      table("custom.claim and advisoryLock do not go together: the claim takes the locks"),
    ],
    [
      "extend without a lease",
      () => described({ columns: { a: id() }, custom: { extend() {} } }),
      table("custom.extend needs a lease: mark a column with lockedUntil()"),
    ],
    [
      "lock without advisoryLock",
      () => described({ columns: { a: id() }, custom: { lock() {} } }),
      table("custom.lock needs advisoryLock"),
    ],
    [
      "lock alone",
      () => described({ columns: { a: id() }, advisoryLock: "{a}", custom: { lock() {} } }),
      table("custom.lock needs custom.unlock beside it"),
    ],
    [
      "an unknown event",
      () => described({ columns: { a: id() }, custom: { acks() {} } }),
      table(
        "custom.acks: custom has no event of this name: there are claim, fetch, ack, retry, discard, retryAfter, deadLetter, extend, lock or unlock",
      ),
    ],
    [
      "a misspelled option",
      () => described({ columns: { a: id() }, isolaton: 1 }),
      table(
        'inboxTable has no option "isolaton"; there are schema, columns, casing, advisoryLock, isolation, mode, clock, custom',
      ),
    ],
  ])("%s", (_, found, expected) => {
    expect(found()).toEqual(expected);
  });

  test("all at once", () => {
    const lines = described(
      {
        schema: "a.b",
        advisoryLock: "{x}",
        isolation: "high",
        mode: "fast",
        columns: {
          name: js.text().priority(),
          until: js.timestamp().lockedUntil().group(),
        },
      },
      "",
    );
    expect(lines.map((line) => line.replace(/^table a\.b\.: /, ""))).toEqual([
      "a table cannot have an empty name",
      "a schema cannot have a dot in its name: schema and table are two settings",
      "column name: a column of type text cannot be the priority: that takes smallint, integer or bigint",
      "column until: a column plays one role, and this one is the lockedUntil already",
      "a table needs one id column: mark it with id()",
      "advisoryLock and lockedUntil() are two forms: keep one of them",
      "advisoryLock has a placeholder {x}, and there is no such property in columns",
      'isolation takes readUncommitted, readCommitted, repeatableRead, serializable or snapshot, not "high"',
      'mode takes deferred, immediate or exclusive, not "fast"',
      "isolation and mode do not go together: mode is for SQLite, isolation for the others",
    ]);
  });
});

describe("what JavaScript may pass by mistake", () => {
  const garbage = [null, 5, true, [], Symbol("s"), 1n];

  test.each<[string, string]>([
    ["schema", "a schema takes its name as text"],
    ["columns", "columns takes an object of columns by their properties"],
    ["casing", "casing takes snake_case"],
    ["advisoryLock", "advisoryLock takes text with placeholders"],
    ["isolation", "isolation takes readUncommitted"],
    ["mode", "mode takes deferred"],
    ["clock", 'clock takes "database", "system" or a function that answers a Date'],
    ["custom", "custom takes an object of functions by their events"],
  ])("%s", (option, words) => {
    for (const value of garbage) {
      expect(described({ columns: { a: id() }, [option]: value }).join("\n")).toContain(words);
    }
  });

  test("the name, and the options as a whole", () => {
    for (const value of [...garbage, undefined]) {
      expect(faults(() => describeTable(value, { columns: { a: id() } }))[0]).toContain(
        "a table takes its name as text",
      );
      expect(described(value)[0]).toMatch(/inboxTable takes an object|columns takes an object/);
    }
  });

  test("columns that are none", () => {
    for (const value of [...garbage, undefined, "text", {}]) {
      expect(described({ columns: { a: id(), b: value } })[0]).toContain(
        "column b: a column is made by c, such as c.text(), not",
      );
    }
  });

  test("arguments of builders", () => {
    for (const value of garbage) {
      const [name = ""] = described({ columns: { a: id(), b: js.text(value) } });
      expect(name).toContain("c.text takes the column's name, not");
    }
    expect(described({ columns: { a: id(), b: js.custom("b", {}) } })[0]).toContain(
      "c.custom takes { decode, encode }, two functions",
    );
    expect(described({ columns: { a: id(), b: js.text().group({ fifo: "no" }) } })[0]).toContain(
      "column b: fifo takes",
    );
    expect(described({ columns: { a: id(), b: js.text().group({ fif: true }) } })[0]).toContain(
      'group() has no option "fif"',
    );
    expect(described({ columns: { a: id(), b: js.integer().attempt({ from: 2 }) } })[0]).toContain(
      "column b: from takes 0 or 1, not 2",
    );
  });

  test("events without functions", () => {
    for (const value of [...garbage, undefined, {}, { postgres: 5 }]) {
      const [line] = described({ columns: { a: id() }, custom: { ack: value } });
      expect(line).toContain(
        "custom.ack takes a function, or an object of functions by their databases",
      );
    }
  });
});

describe("54: queues", () => {
  const Jobs = inboxTable("jobs", {
    columns: { id: id(), kind: c.text().group({ fifo: true }), body: c.json().payload() },
  });
  const Plain = inboxTable("plain", { schema: "app", columns: { id: id() } });

  test("are plain data", () => {
    expect({ ...Jobs.queue("mails") }).toEqual({
      name: "mails",
      table: Jobs.description,
      groups: "one",
      group: "mails",
    });
    expect({ ...Plain.queue() }).toEqual({
      name: "app.plain",
      table: Plain.description,
      groups: "none",
    });
    expect(Plain.queue({ name: "other" }).name).toBe("other");
    expect(Jobs.everyGroup().groups).toBe("every");
    const codec = { decode: (stored: string) => stored, encode: (text: string) => text };
    expect(Jobs.queue("mails", { payload: codec }).payload).toBe(codec);
  });

  test("refuse what is none", () => {
    const queue = (...given: unknown[]) => faults(() => Reflect.apply(Jobs.queue, Jobs, given))[0];
    const plain = (...given: unknown[]) =>
      faults(() => Reflect.apply(Plain.queue, Plain, given))[0];
    expect(queue()).toBe("table jobs: queue takes the group whose rows it is about, not undefined");
    expect(queue(1.5)).toContain("not 1.5");
    expect(queue("a", { payloads: 1 })).toContain('queue has no option "payloads"');
    expect(queue("a", { payload: {} })).toContain("payload takes a Standard Schema, or a codec");
    expect(plain({ name: 5 })).toContain("name takes text, not 5");
    expect(plain({ payload: { decode() {}, encode() {} } })).toContain(
      "payload is for tables with a payload column: the messages of this one are its rows",
    );
    expect(plain("a")).toContain("queue takes an object");
    expect(faults(() => Reflect.apply(Plain.everyGroup, Plain, []))[0]).toContain(
      "everyGroup() needs a column marked with group({ fifo: true })",
    );
  });
});

describe("70: a headers layout", () => {
  const Mail = inboxHeaders("mail", {
    columns: { id: id(), kind: c.text().group(), traceId: c.text("trace_id") },
    custom: { ack: async () => {} },
  });
  const message = (options: unknown) => faults(() => Reflect.apply(inboxMessage, null, [options]));

  test("a message has its table's description and its own columns", () => {
    const fetch = async () => [];
    const To = inboxMessage({
      headers: Mail,
      casing: "snake_case",
      columns: { sentTo: c.text() },
      custom: { fetch },
    });
    expect(To.description.columns).toBe(Mail.description.columns);
    expect(To.description.message?.columns.map(({ name }) => name)).toEqual(["sent_to"]);
    expect(Object.keys(To.description.custom ?? {})).toEqual(["ack", "fetch"]);
    expect({ ...To.queue("a") }).toMatchObject({ name: "a", table: To.description });
    expect("insert" in To).toBe(false);
    expect("queue" in Mail).toBe(false);
    expect(To.describe().message).toHaveLength(1);
  });

  test("refuses what belongs to the headers table, all at once", () => {
    expect(
      message({
        headers: Mail,
        schema: "app",
        isolation: "serializable",
        columns: { urgency: c.integer().priority() },
        custom: { ack() {} },
        colour: 1,
      }).map((line) => line.replace("table mail: ", "")),
    ).toEqual([
      'inboxMessage has no option "colour"; there are headers, columns, casing, custom, schema, advisoryLock, isolation, mode, clock',
      "a message has no schema: that is an option of the headers table",
      "a message has no isolation: that is an option of the headers table",
      "column urgency: a message has no priority: that is a column of the headers table",
      "a message has one event of its own, fetch: ack belongs to the headers table",
    ]);
  });

  test("takes nothing but a headers table", () => {
    const Jobs = inboxTable("jobs", { columns: { id: id() } });
    for (const headers of [Jobs, Mail.description, undefined, null, "mail"]) {
      expect(message({ headers, columns: { a: c.text() } })[0]).toContain(
        "headers takes a table made by inboxHeaders, not",
      );
    }
    expect(message(undefined)[0]).toContain("headers takes a table made by inboxHeaders");
  });
});

test("2: the words for each role's types are its types", () => {
  for (const [role, types] of Object.entries(playable)) {
    expect(Reflect.get(roleTypes, role)).toBe(listed(types));
  }
});
