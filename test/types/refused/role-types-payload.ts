import { c } from "../../../src/table/columns.ts";

// expect: a column of type uuid cannot be the payload: that takes bytes, text or json
c.uuid().payload();
