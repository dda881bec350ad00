import { build } from "vite";
import { repository } from "../support/package.ts";

/** A TypeScript program as one file that every runtime takes. */
export async function bundled(program: string): Promise<string> {
  const built = await build({
    configFile: false,
    root: repository,
    logLevel: "warn",
    build: {
      ssr: program,
      target: "node20",
      write: false,
      rolldownOptions: { output: { format: "esm" } },
    },
  });
  const [chunk] = "output" in built ? built.output : [];
  if (chunk === undefined) throw new Error("nothing was bundled");
  return chunk.code;
}
