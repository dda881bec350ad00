import { c } from "../../../src/table/columns.ts";

// expect: a column of type timestamp cannot be the id: that takes smallint, integer, bigint, text, uuid or decimal
c.timestamp().id();
// expect: a column of type bytes cannot be the id: that takes smallint, integer, bigint, text, uuid or decimal
c.bytes().id();
// expect: a column of type json cannot be the id: that takes smallint, integer, bigint, text, uuid or decimal
c.json().id();
