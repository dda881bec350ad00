import { c } from "../../../src/table/columns.ts";

// expect: a column of type timestamp cannot be the priority: that takes smallint, integer or bigint
c.timestamp().priority();
// expect: a column of type boolean cannot be the priority: that takes smallint, integer or bigint
c.boolean().priority();
