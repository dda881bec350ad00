#!/usr/bin/env node
import { run } from "./run.ts";

/** How long what is left over may take to end by itself. */
const LEFT_OVER_MS = 500;

process.exitCode = await run(process.argv.slice(2));
// What a configuration imports may keep the process alive: a pool or a timer of the service.
setTimeout(() => process.stdout.write("", () => process.exit()), LEFT_OVER_MS).unref();
