import { c } from "../../../src/table/columns.ts";

// expect: a column of type bytes cannot be the group: that takes smallint, integer, bigint, text or uuid
c.bytes().group();
// expect: a column of type timestamp cannot be the group: that takes smallint, integer, bigint, text or uuid
c.timestamp().group();
