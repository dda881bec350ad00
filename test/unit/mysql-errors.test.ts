import { describe, expect, test } from "vitest";
import {
  endsTransaction,
  isSessionLost,
  isTransient,
  isUnstorableText,
} from "../../src/dialect/mysql/errors.ts";

/** An error as both drivers make it of what the server said. */
function said(errno: number): Error {
  return Object.assign(new Error(`error ${errno}`), { errno });
}

describe("errors of MySQL and MariaDB", () => {
  test.each([1020, 1028, 1205, 1213, 1317, 1412, 1614, 1615, 1969, 3024, 3058, 3101, 3572])(
    "%d may go by itself, on the same session",
    (errno) => {
      expect(isTransient(said(errno))).toBe(true);
      expect(isSessionLost(said(errno))).toBe(false);
    },
  );

  test.each([1053, 1080, 1152, 1153, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031])(
    "%d ends the session",
    (errno) => {
      expect(isSessionLost(said(errno))).toBe(true);
      expect(isTransient(said(errno))).toBe(false);
    },
  );

  test.each([2013, 45_009, -104])("%d is no server's: nobody knows of the session", (errno) => {
    expect(isSessionLost(said(errno))).toBe(true);
    expect(isTransient(said(errno))).toBe(false);
  });

  test.each([1054, 1062, 1064, 1142, 1146, 1264, 1305])("%d stays as it is", (errno) => {
    expect(isSessionLost(said(errno))).toBe(false);
    expect(isTransient(said(errno))).toBe(false);
    expect(endsTransaction(said(errno))).toBe(false);
  });

  test.each([1213, 1614, 3101])("%d has undone the whole transaction", (errno) => {
    expect(endsTransaction(said(errno))).toBe(true);
  });

  test("1205 and an interruption undo the statement alone", () => {
    for (const errno of [1205, 1317, 3024]) expect(endsTransaction(said(errno))).toBe(false);
  });

  test.each([1300, 1366, 1406, 3854])("%d: the text cannot be stored", (errno) => {
    expect(isUnstorableText(said(errno))).toBe(true);
  });
});
