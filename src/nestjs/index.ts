/**
 * `intray/nestjs`: workers of a QueueBox inbox, started and stopped with a Nest application.
 *
 * @module
 */
export { InboxHandler, type InboxHandlerDecorator, type InboxHandlerMethod } from "./handler.ts";
export {
  type NestClass,
  type NestDynamicModule,
  type NestImport,
  type NestProvider,
  type NestToken,
  type QueueBoxInboxAsyncOptions,
  QueueBoxInboxModule,
} from "./module.ts";
export type { NamedInboxOptions, QueueBoxInboxOptions } from "./options.ts";
