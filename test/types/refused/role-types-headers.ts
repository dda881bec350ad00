import { c } from "../../../src/table/columns.ts";

// expect: a column of type bytes cannot be the headers: that takes json
c.bytes().headers();
