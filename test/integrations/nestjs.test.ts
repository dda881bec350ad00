import "reflect-metadata";
import { type INestApplicationContext, Injectable, Module, Scope } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromPg } from "../../src/driver/pg.ts";
import { InboxHandler, QueueBoxInboxModule } from "../../src/nestjs/index.ts";
import type { NestImport } from "../../src/nestjs/module.ts";
import type { QueueBoxInboxOptions } from "../../src/nestjs/options.ts";
import type { InboxMessage, InboxTransaction } from "../../src/queuebox/index.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { eventually } from "../support/work-inbox.ts";

/** Something that handlers have injected. */
@Injectable()
class Prefix {
  readonly text: string = "handled";
}

@InboxHandler("orders")
class OrdersHandler {
  readonly #prefix: Prefix;

  constructor(prefix: Prefix) {
    this.#prefix = prefix;
  }

  async handle(message: InboxMessage<{ n: number }>, tx: InboxTransaction, signal: AbortSignal) {
    expect(signal.aborted).toBe(false);
    await tx.query(EFFECT, [`${this.#prefix.text} ${message.idempotencyKey}`]);
  }
}

@Injectable()
class Billing {
  @InboxHandler("payments")
  async pay(message: InboxMessage, tx: InboxTransaction) {
    await tx.query(EFFECT, [`paid ${message.idempotencyKey}`]);
  }

  @InboxHandler("refunds")
  refund(message: InboxMessage, tx: InboxTransaction) {
    return this.#write(tx, `refunded ${message.idempotencyKey}`);
  }

  async #write(tx: InboxTransaction, what: string) {
    await tx.query(EFFECT, [what]);
  }
}

async function openShop() {
  const database = await createDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 6 });
  const source = fromPg(pool);
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  return openInbox(async () => ({
    source,
    dialect: "postgres",
    url: database.url,
    query: (text, params) => database.query(text, params),
    endSessions: (which) => database.endSessions(which),
    another: () => source,
    close: async () => {},
  }));
}

/** An application of these parts; closed when the test ends. */
async function start(
  imports: NestImport[],
  providers: object[] = [],
): Promise<INestApplicationContext> {
  class AppModule {}
  Module({ imports: imports as never[], providers: providers as never[] })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    abortOnError: false,
  });
  onTestFinished(() => app.close());
  return app;
}

const polling = { pollIntervalMs: 20 };

describeOn("postgres", "intray/nestjs", () => {
  test("several named workers start with the application, each with its handler, and stop with it", async () => {
    const inbox = await openShop();
    const root = QueueBoxInboxModule.forRoot({
      connections: inbox.source,
      logger: false,
      workers: [
        { name: "orders", source: "orders", ...polling },
        { name: "payments", source: "pay", ...polling },
        { name: "refunds", source: "refund", ...polling },
      ],
    });
    await inbox.insert({ key: "a" }, { key: "b", source: "pay" }, { key: "c", source: "refund" });
    const app = await start([root], [Prefix, OrdersHandler, Billing]);
    await eventually(async () => (await inbox.count("processed")) === 3);
    expect((await inbox.effects()).sort()).toEqual(["handled a", "paid b", "refunded c"]);
    await app.close();
    await inbox.insert({ key: "late" });
    expect((await inbox.row("late")).state).toBe("pending");
  });

  test("the shutdown waits for a running handler, within the grace", async () => {
    const inbox = await openShop();
    let begin = () => {};
    const began = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let go = () => {};
    const gone = new Promise<void>((resolve) => {
      go = resolve;
    });
    @InboxHandler("orders")
    class Slow {
      async handle(_message: InboxMessage, tx: InboxTransaction) {
        begin();
        await gone;
        await tx.query(EFFECT, ["slow"]);
      }
    }
    const root = QueueBoxInboxModule.forRoot({
      connections: inbox.source,
      logger: false,
      workers: [{ name: "orders", source: "orders", ...polling }],
    });
    await inbox.insert({ key: "a" });
    const app = await start([root], [Slow]);
    await began;
    let isClosed = false;
    const closing = app.close().then(() => {
      isClosed = true;
    });
    await inbox.rows();
    expect(isClosed).toBe(false);
    go();
    await closing;
    expect(await inbox.effects()).toEqual(["slow"]);
    expect(await inbox.count("processed")).toBe(1);
  });

  test("with grace 0 the handler's signal aborts, and the message is abandoned", async () => {
    const inbox = await openShop();
    let begin = () => {};
    const began = new Promise<void>((resolve) => {
      begin = resolve;
    });
    @InboxHandler("orders")
    class Endless {
      async handle(_message: InboxMessage, _tx: InboxTransaction, signal: AbortSignal) {
        begin();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      }
    }
    const root = QueueBoxInboxModule.forRoot({
      connections: inbox.source,
      logger: false,
      workers: [
        { name: "orders", source: "orders", ...polling, shutdownGraceMs: 0, abandon: "release" },
      ],
    });
    await inbox.insert({ key: "a" });
    const app = await start([root], [Endless]);
    await began;
    await app.close();
    expect(await inbox.row("a")).toMatchObject({ state: "pending", attempt: 0 });
  });

  test("forRootAsync takes its settings from what is injected, from imported modules too", async () => {
    const inbox = await openShop();
    class SettingsModule {}
    Module({ providers: [{ provide: "SOURCE", useValue: "orders" }], exports: ["SOURCE"] })(
      SettingsModule,
    );
    const root = QueueBoxInboxModule.forRootAsync({
      imports: [SettingsModule],
      inject: ["SOURCE"],
      useFactory: async (source: string): Promise<QueueBoxInboxOptions> => ({
        connections: inbox.source,
        logger: false,
        workers: [{ name: "orders", source, ...polling }],
      }),
    });
    await inbox.insert({ key: "a" });
    await start([root], [Prefix, OrdersHandler]);
    await eventually(async () => (await inbox.count("processed")) === 1);
    expect(await inbox.effects()).toEqual(["handled a"]);
  });

  test("several forRoot stand in one application, with connections of their own", async () => {
    const inbox = await openShop();
    const one = (name: string, source: string) =>
      QueueBoxInboxModule.forRoot({
        logger: false,
        workers: [{ name, source, connections: inbox.source, ...polling }],
      });
    class Feature {}
    Module({ imports: [one("payments", "pay"), one("refunds", "refund")], providers: [Billing] })(
      Feature,
    );
    await inbox.insert({ key: "a", source: "pay" }, { key: "b" });
    await start([one("orders", "orders"), Feature], [Prefix, OrdersHandler]);
    await eventually(async () => (await inbox.count("processed")) === 2);
  });

  test("a worker that ends by an error is told of", async () => {
    const inbox = await openShop();
    await inbox.query("ALTER TABLE inbox DROP COLUMN headers");
    const onFailure = vi.fn();
    const root = QueueBoxInboxModule.forRoot({
      connections: inbox.source,
      logger: false,
      onFailure,
      workers: [{ name: "orders", source: "orders", ...polling }],
    });
    await start([root], [Prefix, OrdersHandler]);
    await eventually(() => onFailure.mock.calls.length === 1);
    expect(onFailure.mock.calls[0]).toMatchObject([{ code: "SCHEMA" }, "orders"]);
  });
});

const nowhere = { connect: () => Promise.reject(new Error("there is no database")) };

function root(...names: string[]) {
  return QueueBoxInboxModule.forRoot({
    connections: nowhere,
    logger: false,
    workers: names.map((name) => ({ name, source: name, pollIntervalMs: 60_000 })),
  });
}

test("settings are checked at registration, and the error names the worker and the option", () => {
  const register = (options: unknown) => () =>
    Reflect.apply(QueueBoxInboxModule.forRoot, QueueBoxInboxModule, [options]);
  const orders = { name: "orders", source: "orders" };
  const bad: [unknown, RegExp][] = [
    [undefined, /takes an object/],
    [{ workers: [] }, /workers takes a list of one or more/],
    [{ connections: nowhere, workers: [orders], worker: 1 }, /no option "worker"/],
    [{ workers: [orders] }, /worker "orders": connections takes a connection source/],
    [{ connections: nowhere, workers: [{ source: "orders" }] }, /name takes a text/],
    [{ connections: nowhere, workers: [{ ...orders, name: " " }] }, /name takes a text/],
    [{ connections: nowhere, workers: [{ name: "orders" }] }, /worker "orders": source takes/],
    [
      { connections: nowhere, workers: [{ ...orders, leaseMs: 2 }] },
      /worker "orders": leaseMs takes a whole number from 3/,
    ],
    [{ connections: nowhere, workers: [{ ...orders, lease: 2 }] }, /no option "lease"/],
    [{ connections: nowhere, workers: [orders, orders] }, /two workers "orders"/],
    [{ connections: nowhere, workers: [orders], onFailure: 1 }, /onFailure takes a function/],
  ];
  for (const [options, message] of bad) expect(register(options)).toThrow(message);
});

test("forRootAsync checks them while the application is created", async () => {
  const asynchronous = QueueBoxInboxModule.forRootAsync({
    useFactory: () => ({ connections: nowhere, workers: [{ name: "orders", source: "" }] }),
  });
  await expect(start([asynchronous], [Prefix, OrdersHandler])).rejects.toThrow(
    /worker "orders": source takes/,
  );
});

test("a name that two modules have is an error", async () => {
  await expect(start([root("orders"), root("orders")], [Prefix, OrdersHandler])).rejects.toThrow(
    /two workers "orders"/,
  );
});

test("a worker without a handler is an error", async () => {
  await expect(start([root("orders", "mail")], [Prefix, OrdersHandler])).rejects.toThrow(
    /the worker "mail" has no handler: put @InboxHandler\("mail"\)/,
  );
});

test("a handler without a worker is an error", async () => {
  await expect(start([root("payments")], [Billing])).rejects.toThrow(
    /@InboxHandler\("refunds"\) of Billing.refund: there is no worker "refunds"; there are payments/,
  );
});

test("two handlers of one worker are an error", async () => {
  @InboxHandler("orders")
  class Another {
    handle() {}
  }
  await expect(start([root("orders")], [Prefix, OrdersHandler, Another])).rejects.toThrow(
    /the worker "orders" has two handlers: OrdersHandler.handle and Another.handle/,
  );
});

test("a handler that is made for each request is an error", async () => {
  @InboxHandler("orders")
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    handle() {}
  }
  await expect(start([root("orders")], [PerRequest])).rejects.toThrow(/must be a singleton/);
});

test("the decorator refuses what cannot be a handler", () => {
  class Bare {}
  const decorate = (...args: unknown[]) => Reflect.apply(InboxHandler("x"), undefined, args);
  expect(() => decorate(Bare)).toThrow(/the class Bare has no method handle/);
  expect(() => decorate(Bare, "fixed", {})).toThrow(/neither static nor private/);
  expect(() => decorate("text")).toThrow(/goes before a class/);
  expect(() => InboxHandler(" ")).toThrow(/takes the name of a worker/);
});

test("a standard decorator marks a method as well", async () => {
  class Standard {
    on() {}
  }
  const context = { kind: "method", name: "on", static: false, private: false };
  Reflect.apply(InboxHandler("orders"), undefined, [Standard.prototype.on, context]);
  await start([root("orders")], [Standard]);
});
