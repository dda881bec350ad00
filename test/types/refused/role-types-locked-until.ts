import { c } from "../../../src/table/columns.ts";

// expect: a column of type text cannot be the lockedUntil: that takes timestamp
c.text().lockedUntil();
