/** What intray uses of `@nestjs/common` and `@nestjs/core`, structurally. */

export declare class Logger {
  constructor(context: string);
  log(message: string, ...rest: unknown[]): void;
  warn(message: string, ...rest: unknown[]): void;
  error(message: string, ...rest: unknown[]): void;
}

export declare class DiscoveryModule {}

export declare class DiscoveryService {
  getProviders(): InstanceWrapperLike[];
  getControllers(): InstanceWrapperLike[];
}

/** A provider or controller that Nest knows of. */
export interface InstanceWrapperLike {
  /** Undefined until it is made; where it is made for each request, its bare prototype. */
  readonly instance: unknown;
  /** False where it is made for each request. */
  isDependencyTreeStatic(): boolean;
}
