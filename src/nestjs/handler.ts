import { hasMethods } from "../options.ts";
import type { InboxMessage, InboxTransaction } from "../queuebox/types.ts";

/** A method that works messages; the arguments and the outcome are those of a handler of `InboxWorker`. */
export type InboxHandlerMethod = (
  message: InboxMessage<never>,
  tx: InboxTransaction,
  signal: AbortSignal,
) => Promise<void> | void;

/** What {@link InboxHandler} answers: stands before a class that has `handle`, or before a method. */
export interface InboxHandlerDecorator {
  <Class extends abstract new (...args: never[]) => { handle: InboxHandlerMethod }>(
    target: Class,
    context?: ClassDecoratorContext<Class>,
  ): void;
  <Method extends InboxHandlerMethod>(
    prototype: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
  <Method extends InboxHandlerMethod>(method: Method, context: ClassMethodDecoratorContext): void;
}

/** Shared by every copy of this module in a process (a service may load it as ESM and as CommonJS). */
const HANDLES: unique symbol = Symbol.for("intray.nestjs.handles");

interface Mark {
  readonly worker: string;
  /** The method's name; undefined: the marked function itself is the method. */
  readonly method: string | symbol | undefined;
}

/**
 * Gives a worker its handler. Before a class it is the method `handle`; before a method it is that
 * one, so that a class can serve several workers. The class must be a provider (or controller) of the
 * application, and a singleton.
 *
 * Works with TypeScript's `experimentalDecorators`, which Nest asks for, and with standard decorators.
 *
 * @param worker the worker's name, as `QueueBoxInboxModule.forRoot` has it.
 * @throws TypeError where the name is blank, or what is decorated cannot be a handler.
 * @example
 * ```ts
 * @InboxHandler("orders")
 * @Injectable()
 * class OrdersHandler {
 *   async handle(message: InboxMessage, tx: InboxTransaction, signal: AbortSignal) {
 *     await tx.sql`INSERT INTO orders (id) VALUES (${message.id})`;
 *   }
 * }
 * ```
 */
export function InboxHandler(worker: string): InboxHandlerDecorator {
  if (typeof worker !== "string" || worker.trim() === "") {
    throw new TypeError("InboxHandler takes the name of a worker, a text that is not blank");
  }
  return (target: object, second?: unknown): void => {
    if (typeof target === "object") {
      // The older decorators give the prototype and the method's name.
      if (typeof second !== "string" && typeof second !== "symbol") throw misplaced(worker);
      mark(target.constructor, { worker, method: second });
      return;
    }
    if (typeof target !== "function") throw misplaced(worker);
    if (isMethodContext(second)) {
      if (second.static || second.private) throw misplaced(worker);
      mark(target, { worker, method: undefined });
      return;
    }
    // A static method: the older decorators give its class.
    if (typeof second === "string" || typeof second === "symbol") throw misplaced(worker);
    if (!hasMethods(Reflect.get(target, "prototype"), ["handle"])) {
      throw new TypeError(
        `@InboxHandler("${worker}"): the class ${String(Reflect.get(target, "name"))} has no method handle(message, tx, signal)`,
      );
    }
    mark(target, { worker, method: "handle" });
  };
}

/** A method that is some worker's handler. */
export interface MarkedMethod {
  readonly worker: string;
  readonly method: string | symbol;
}

/** What the decorators marked on a class and those that it extends. */
export function markedMethods(target: object): MarkedMethod[] {
  const found = new Map<string, MarkedMethod>();
  const add = (worker: string, method: string | symbol) => {
    found.set(`${worker} ${String(method)}`, { worker, method });
  };
  for (let each: unknown = target; typeof each === "function"; each = Object.getPrototypeOf(each)) {
    for (const { worker, method } of marksOf(each)) {
      if (method !== undefined) add(worker, method);
    }
    const prototype: unknown = each.prototype;
    if (typeof prototype !== "object" || prototype === null) continue;
    for (const key of Reflect.ownKeys(prototype)) {
      // Not by reading it: a getter may do anything.
      const value: unknown = Object.getOwnPropertyDescriptor(prototype, key)?.value;
      if (typeof value !== "function" || key === "constructor") continue;
      for (const { worker, method } of marksOf(value)) if (method === undefined) add(worker, key);
    }
  }
  return [...found.values()];
}

function mark(target: object, mark: Mark): void {
  Object.defineProperty(target, HANDLES, { value: [...marksOf(target), mark], configurable: true });
}

function marksOf(target: object): readonly Mark[] {
  return Object.getOwnPropertyDescriptor(target, HANDLES)?.value ?? [];
}

function isMethodContext(value: unknown): value is ClassMethodDecoratorContext {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "method";
}

function misplaced(worker: string): TypeError {
  return new TypeError(
    `@InboxHandler("${worker}") goes before a class with a method handle, or before a method that is neither static nor private`,
  );
}
