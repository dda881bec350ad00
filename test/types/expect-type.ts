/** Whether two types are the same, not only assignable. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles where the type is `true`. */
export function expectType<Same extends boolean>(_same: Same): void {}
