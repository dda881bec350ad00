import { defineConfig, type IntrayConfig } from "../../../src/config.ts";
// As TypeScript wants it where the output is run: by the name that the output will have.
import { EmailJobs, FailedJobs, Steps } from "./tables.js";

const config = {
  databases: {
    main: { url: process.env["DATABASE_URL"], tables: [EmailJobs, FailedJobs, Steps] },
  },
} satisfies IntrayConfig;

export default defineConfig(config);
