/** The redaction, through which every log field and every stored error passes; `redact/` has its rules. */
export { sanitizeError } from "./error-text.ts";
export { MAX_ERROR_LENGTH, sanitize } from "./redact/sanitize.ts";
