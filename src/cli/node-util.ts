/**
 * `node:util` as the bundled libraries import it. @clack/prompts takes `styleText`, which Node has from
 * 20.12 on, and without it nothing of the command line would load; before that its text has no colours.
 */
// biome-ignore lint/style/useNodejsImportProtocol: under the other name it would import itself
import util from "util";

// biome-ignore lint/style/useNodejsImportProtocol: see above
export * from "util";

type StyleText = (format: unknown, text: string) => string;

const styled: unknown = Reflect.get(util, "styleText");

export const styleText: StyleText = isStyleText(styled) ? styled : (_format, text) => text;

function isStyleText(value: unknown): value is StyleText {
  return typeof value === "function";
}
