import { c } from "../../../src/table/columns.ts";

// expect: a column of type decimal cannot be the attempt: that takes smallint, integer or bigint
c.decimal().attempt();
