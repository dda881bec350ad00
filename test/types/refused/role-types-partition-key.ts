import { c } from "../../../src/table/columns.ts";

// expect: a column of type json cannot be the partitionKey: that takes smallint, integer, bigint, text, uuid, decimal, boolean or timestamp
c.json().partitionKey();
