/**
 * What stands between a URL's scheme and its first slash: a whole `[user@]host[:port]`, several of
 * them with commas between, or only the front of a password that holds the slash.
 */
import {
  AT,
  type Characters,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  isDigit,
  OPEN_BRACKET,
} from "./characters.ts";

export type Authority = "whole" | "label behind user information" | "password";

/** Where the walk is within the authority; "password" is a colon behind which no port stands. */
type State = "host" | "address" | "colon" | "port" | "password";

export function classifyAuthority(characters: Characters, start: number, end: number): Authority {
  let state: State = "host";
  let hasUser = false;
  let isLabel = true;
  for (let index = start; index < end; index += 1) {
    const code = characters.code(index);
    if (code === AT) {
      state = "host";
      hasUser = true;
      isLabel = true;
    } else {
      state = nextState(state, code);
      if (code === DOT || state !== "host") isLabel = false;
    }
  }
  // A colon or a bracket that nothing follows or closes belongs to no host either.
  if (state === "password" || state === "colon" || state === "address") return "password";
  return hasUser && isLabel ? "label behind user information" : "whole";
}

function nextState(state: State, code: number): State {
  switch (state) {
    case "host":
      if (code === OPEN_BRACKET) return "address";
      return code === COLON ? "colon" : "host";
    case "address":
      return code === CLOSE_BRACKET ? "host" : "address";
    case "colon":
      return isDigit(code) ? "port" : "password";
    case "port":
      if (code === COMMA) return "host";
      return isDigit(code) ? "port" : "password";
    case "password":
      return "password";
  }
}
