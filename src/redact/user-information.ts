/**
 * Finds the end of a URL's user information: the last usable `@` behind the scheme.
 *
 * Passwords are put into URLs unescaped, so user information may hold `@`, slashes and white space.
 * It never holds `?`, `#`, `://`, or a comma followed by white space. An `@` is usable
 *
 * 1. in front of the first slash, without white space before it: always;
 * 2. behind a slash, without white space before it: by what stands in front of that slash. A colon
 *    that does not start a port is a password's, so any `@` is usable. A host, with or without a
 *    port, means that a path follows, and only a host and port behind the `@` prove otherwise. Behind
 *    user information, a bare label (`user:p@ss/...`) may be the rest of a password: then a host
 *    followed by a port, `/`, `?` or `#` is enough.
 * 3. with white space before it, when what follows looks like a host; there is a white space with at
 *    most 200 characters on each side; and, with a slash before it, the host is followed by a port,
 *    `/`, `?` or `#`.
 *
 * Rules 2 and 3 look far ahead, and on hostile text (`a:/a:/a:/...`) from everywhere. So they read
 * through trails: cursors that go through the text once, for all URLs together, which works because
 * the bounds that a URL asks for never lie before those that an earlier URL asked for. The part up to
 * the first slash is walked anew for each URL, but no two URLs have it in common: each takes a slash.
 */
import { classifyAuthority } from "./authority.ts";
import { AT, type Characters, COLON, COMMA, HASH, isSpace, QUESTION, SLASH } from "./characters.ts";
import { type HostBehind, hostBehind } from "./host.ts";

/** The most characters on each side of a white space within user information. */
const MAX_BESIDE_SPACE = 200;

const NONE = -1;

export class UserInformation {
  readonly #characters: Characters;
  readonly #unspacedRun: Run;
  readonly #spacedRun: Run;
  readonly #unspaced: Trail;
  readonly #spaced: Trail;
  readonly #spaces: Trail;

  constructor(characters: Characters) {
    this.#characters = characters;
    this.#unspacedRun = new Run(characters, (index) => endsUnspaced(characters, index));
    this.#spacedRun = new Run(characters, (index) => endsSpaced(characters, index));
    this.#unspaced = new Trail(characters);
    this.#spaced = new Trail(characters);
    this.#spaces = new Trail(characters);
  }

  /** The index of the `@` that ends the user information starting at `start`; none without one. */
  endAfter(start: number): number | undefined {
    const unspacedEnd = this.#unspacedRun.endFrom(start);
    const spacedEnd = this.#spacedRun.endFrom(start);
    const reach = this.#reach(start, unspacedEnd, spacedEnd);
    const slash = this.#slashFrom(start, Math.max(unspacedEnd, reach));

    const end = Math.max(
      this.#beforeSlash(start, Math.min(slash, unspacedEnd)),
      this.#behindSlash(start, slash, unspacedEnd),
      this.#behindSpace(unspacedEnd, Math.min(slash, reach)),
      this.#behindSpaceAndSlash(unspacedEnd, reach),
    );
    return end === NONE ? undefined : end;
  }

  /** How far the user information may go behind white space; not at all without any. */
  #reach(start: number, unspacedEnd: number, spacedEnd: number): number {
    this.#spaces.advance(Math.min(start + MAX_BESIDE_SPACE + 1, spacedEnd));
    const space = this.#spaces.space;
    // The last space allowed on the left goes furthest on the right, and every `@` between the first
    // one and it has a space near enough on its left.
    return space < start ? unspacedEnd : Math.min(space + MAX_BESIDE_SPACE + 2, spacedEnd);
  }

  #slashFrom(start: number, end: number): number {
    let index = start;
    while (index < end && this.#characters.code(index) !== SLASH) index += 1;
    return index;
  }

  #beforeSlash(start: number, end: number): number {
    let index = end - 1;
    while (index >= start && this.#characters.code(index) !== AT) index -= 1;
    return index >= start ? index : NONE;
  }

  #behindSlash(start: number, slash: number, unspacedEnd: number): number {
    if (slash >= unspacedEnd) return NONE;
    this.#unspaced.advance(unspacedEnd);
    return after(slash, this.#unspaced[usableBehind(this.#characters, start, slash)]);
  }

  #behindSpace(firstSpace: number, end: number): number {
    let last = NONE;
    for (let index = firstSpace; index < end; index += 1) {
      if (this.#characters.code(index) !== AT) continue;
      if (hostBehind(this.#characters, index) !== "none") last = index;
    }
    return last;
  }

  #behindSpaceAndSlash(firstSpace: number, reach: number): number {
    if (reach <= firstSpace) return NONE;
    this.#spaced.advance(reach);
    return after(firstSpace, this.#spaced.withPath);
  }
}

function usableBehind(
  characters: Characters,
  start: number,
  slash: number,
): "any" | "withPath" | "withPort" {
  switch (classifyAuthority(characters, start, slash)) {
    case "password":
      return "any";
    case "label behind user information":
      return "withPath";
    case "whole":
      return "withPort";
  }
}

function after(index: number, found: number): number {
  return found > index ? found : NONE;
}

function endsUnspaced(characters: Characters, index: number): boolean {
  return isSpace(characters.code(index)) || endsSpaced(characters, index);
}

function endsSpaced(characters: Characters, index: number): boolean {
  switch (characters.code(index)) {
    case QUESTION:
    case HASH:
      return true;
    case COMMA:
      return isSpace(characters.code(index + 1));
    case COLON:
      return characters.code(index + 1) === SLASH && characters.code(index + 2) === SLASH;
    default:
      return false;
  }
}

/** A stretch of text up to a character that ends it, looked for once for all starts within it. */
class Run {
  readonly #characters: Characters;
  readonly #endsAt: (index: number) => boolean;
  #end = NONE;

  constructor(characters: Characters, endsAt: (index: number) => boolean) {
    this.#characters = characters;
    this.#endsAt = endsAt;
  }

  endFrom(start: number): number {
    if (start > this.#end) {
      this.#end = start;
      while (this.#end < this.#characters.length && !this.#endsAt(this.#end)) this.#end += 1;
    }
    return this.#end;
  }
}

/** Goes through the text once and remembers where it last saw what. */
class Trail {
  readonly #characters: Characters;
  #index = 0;
  /** The last white space. */
  space = NONE;
  /** The last `@`. */
  any = NONE;
  /** The last `@` whose host is followed by a port, `/`, `?` or `#`. */
  withPath = NONE;
  /** The last `@` whose host is followed by a port. */
  withPort = NONE;

  constructor(characters: Characters) {
    this.#characters = characters;
  }

  advance(end: number): void {
    for (; this.#index < end; this.#index += 1) {
      const code = this.#characters.code(this.#index);
      if (code === AT) this.#passAt(hostBehind(this.#characters, this.#index));
      else if (isSpace(code)) this.space = this.#index;
    }
  }

  #passAt(host: HostBehind): void {
    this.any = this.#index;
    if (host === "with port") this.withPort = this.#index;
    if (host === "with port" || host === "with path") this.withPath = this.#index;
  }
}
