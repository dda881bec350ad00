import type { InboxAdministration } from "../inbox-administration.ts";
import { columnsStatement } from "./inbox-catalogue.ts";
import {
  listDeadStatement,
  purgeDeadByIdStatement,
  purgeDeadStatement,
  retryDeadOfSourceStatement,
  retryDeadStatement,
  showDeadStatement,
} from "./inbox-dead-letters.ts";
import { statusStatement } from "./inbox-status.ts";
import { valuesText } from "./sql.ts";

export const sqlserverInboxAdministration: InboxAdministration = {
  columns: columnsStatement,
  status: statusStatement,
  list: listDeadStatement,
  show: showDeadStatement,
  retry: retryDeadStatement,
  retryOfSource: retryDeadOfSourceStatement,
  purge: purgeDeadByIdStatement,
  purgeOld: purgeDeadStatement,
  ids: valuesText,
};
