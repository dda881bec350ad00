import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: casing takes snake_case, SCREAMING_SNAKE_CASE, camelCase, PascalCase, kebab-case, lowercase or UPPERCASE
  casing: "snake",
  columns: {
    id: c.bigint().id(),
  },
});
