import { c } from "../../../src/table/columns.ts";

// expect: a column of type bigint cannot be the retryAfter: that takes timestamp
c.bigint().retryAfter();
