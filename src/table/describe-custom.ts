import { isObject, shown } from "../options.ts";
import { type CustomEvents, customEvents, type FormName } from "./description.ts";
import { listed } from "./option-words.ts";
import { sentence } from "./sentences.ts";

/** Whether the option `custom` is one: what is wrong with it goes to `faults`. */
export function checkCustom(
  given: unknown,
  form: FormName,
  faults: string[],
): given is CustomEvents {
  if (!isObject(given) || Array.isArray(given)) {
    faults.push(`custom takes an object of functions by their events, not ${shown(given)}`);
    return false;
  }
  const before = faults.length;
  for (const [event, value] of Object.entries(given)) {
    const fault = eventFault(event, form, given) ?? valueFault(event, value);
    if (fault !== undefined) faults.push(fault);
  }
  return faults.length === before;
}

function eventFault(
  event: string,
  form: FormName,
  given: Record<string, unknown>,
): string | undefined {
  const events: readonly string[] = customEvents;
  if (!events.includes(event)) {
    return `custom.${event}: ${sentence("customUnknown", { events: listed(events) })}`;
  }
  if (event === "claim" && form === "advisoryLock") return sentence("customClaimAndLock");
  if (event === "extend" && form !== "lease") return sentence("customExtend");
  if (event !== "lock" && event !== "unlock") return undefined;
  if (form !== "advisoryLock") return sentence("customLock", { event });
  const other = event === "lock" ? "unlock" : "lock";
  return given[other] === undefined ? sentence("customPair", { event, other }) : undefined;
}

function valueFault(event: string, value: unknown): string | undefined {
  if (typeof value === "function") return undefined;
  if (isObject(value) && !Array.isArray(value)) {
    const functions = Object.values(value);
    if (functions.length > 0 && functions.every((each) => typeof each === "function")) {
      return undefined;
    }
  }
  return `custom.${event} takes a function, or an object of functions by their databases, not ${shown(value)}`;
}
