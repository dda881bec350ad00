import { shown } from "../options.ts";
import type { InboxLogger } from "../queuebox/types.ts";
import { InboxHost } from "./host.ts";
import { makeWorkers, type NamedWorker, type QueueBoxInboxOptions } from "./options.ts";
import { DiscoveryModule, DiscoveryService, Logger } from "./peer.js";

/** A class as Nest takes it: a module, or the token of a provider. */
export type NestClass = abstract new (...args: never[]) => object;

/** What can stand in a module's `imports`. */
export type NestImport =
  | (new (
      ...args: never[]
    ) => object)
  | NestDynamicModule
  | Promise<NestDynamicModule>
  | { forwardRef(): unknown };

/** A module with settings. */
export interface NestDynamicModule {
  module: new (...args: never[]) => object;
  imports?: NestImport[];
  providers?: NestProvider[];
}

/** What {@link QueueBoxInboxModule} brings along. */
export interface NestProvider {
  provide: symbol | NestClass;
  useFactory: (...args: unknown[]) => unknown;
  inject?: NestToken[];
}

/** What a factory may have injected. */
export type NestToken =
  | string
  | symbol
  | NestClass
  | { token: string | symbol | NestClass; optional: boolean };

/** Settings of `forRootAsync`. */
export interface QueueBoxInboxAsyncOptions<Args extends unknown[] = never[]> {
  /** Modules whose providers the factory has injected. */
  readonly imports?: readonly NestImport[];
  /** What the factory has injected, in order. */
  readonly inject?: readonly NestToken[];
  readonly useFactory: (...args: Args) => QueueBoxInboxOptions | Promise<QueueBoxInboxOptions>;
}

interface Made {
  readonly workers: readonly NamedWorker[];
  readonly options: QueueBoxInboxOptions;
}

const MADE: unique symbol = Symbol("intray inbox workers");

/**
 * Workers of a QueueBox inbox in a Nest application: they start at its bootstrap, and at its shutdown
 * stop claiming, give running handlers `shutdownGraceMs`, and are waited for. Several `forRoot` can
 * stand in one application; a worker's name is unique among them all.
 *
 * On signals Nest shuts down only after `app.enableShutdownHooks()`.
 *
 * @example
 * ```ts
 * const pool = new pg.Pool();
 *
 * @Module({
 *   imports: [
 *     QueueBoxInboxModule.forRoot({
 *       connections: fromPg(pool),
 *       workers: [{ name: "orders", source: "orders", maxConcurrency: 4 }],
 *     }),
 *   ],
 *   providers: [OrdersHandler], // the class with @InboxHandler("orders")
 * })
 * class AppModule {}
 * ```
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class QueueBoxInboxModule {
  /**
   * @throws TypeError or RangeError at once for a wrong setting, naming the worker and the option.
   * Handlers are looked for when the application starts: it fails where a worker has none or two,
   * where an `@InboxHandler` names no worker, and where two workers have one name.
   */
  static forRoot(options: QueueBoxInboxOptions): NestDynamicModule {
    const made = { workers: makeWorkers(options, nestLogger()), options };
    return dynamicModule([], { provide: MADE, useFactory: () => made });
  }

  /**
   * Like `forRoot`, with settings that a factory makes of what it has injected. They are checked while
   * the application is created, which fails where one is wrong.
   *
   * @throws TypeError where there is no factory.
   */
  static forRootAsync<Args extends unknown[]>(
    options: QueueBoxInboxAsyncOptions<Args>,
  ): NestDynamicModule {
    const { imports = [], inject = [], useFactory } = options;
    if (typeof useFactory !== "function") {
      throw new TypeError(`useFactory takes a function, not ${shown(useFactory)}`);
    }
    return dynamicModule(imports, {
      provide: MADE,
      inject: [...inject],
      useFactory: async (...args: unknown[]): Promise<Made> => {
        const made: QueueBoxInboxOptions = await Reflect.apply(useFactory, undefined, args);
        return { workers: makeWorkers(made, nestLogger()), options: made };
      },
    });
  }
}

function dynamicModule(imports: readonly NestImport[], made: NestProvider): NestDynamicModule {
  return {
    module: QueueBoxInboxModule,
    imports: [DiscoveryModule, ...imports],
    providers: [
      made,
      { provide: InboxHost, inject: [DiscoveryService, MADE], useFactory: makeHost },
    ],
  };
}

function makeHost(discovery: unknown, made: unknown): InboxHost {
  if (!(discovery instanceof DiscoveryService) || !isMade(made)) {
    throw new TypeError("Nest injected something else than it was asked for");
  }
  return new InboxHost(discovery, made.workers, made.options.onFailure);
}

function isMade(value: unknown): value is Made {
  return typeof value === "object" && value !== null && "workers" in value && "options" in value;
}

function nestLogger(): InboxLogger {
  const logger = new Logger("QueueBoxInbox");
  return {
    info: (message, fields) => logger.log(message, ...(fields === undefined ? [] : [fields])),
    warn: (message, fields) => logger.warn(message, ...(fields === undefined ? [] : [fields])),
    error: (message, fields) => logger.error(message, ...(fields === undefined ? [] : [fields])),
  };
}
