/** Reading from objects whose getters and proxy traps may throw. */

export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** The property, or undefined where reading it throws. */
export function read(object: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(object, key);
  } catch {
    return undefined;
  }
}

export function readString(object: object, key: PropertyKey): string | undefined {
  const value = read(object, key);
  return typeof value === "string" ? value : undefined;
}

/** The object's own enumerable names; undefined where they cannot be had. */
export function readKeys(object: object): string[] | undefined {
  try {
    return Object.keys(object);
  } catch {
    return undefined;
  }
}

/** `Array.isArray`, which throws for a revoked proxy. */
export function isArray(object: object): boolean {
  try {
    return Array.isArray(object);
  } catch {
    return false;
  }
}
