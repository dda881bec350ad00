import { progress } from "@clack/prompts";
import { printable, printLine } from "../output.ts";

/** How many messages stand where. */
export interface Standing {
  readonly processed: number;
  readonly dead: number;
  readonly waiting: number;
}

/** Shows how far the demo is. */
export interface Progress {
  update(standing: Standing): void;
  /** Something happened to one message. */
  event(text: string): void;
  stop(): void;
}

/** A bar on a terminal, plain lines elsewhere, nothing where the answer is JSON. */
export function showProgress(total: number, isJson: boolean): Progress {
  if (isJson) return { update() {}, event() {}, stop() {} };
  return hasRoomForBar() ? new Bar(total) : new Lines(total);
}

/** Some terminals (of CI and of containers) say that they are 0 columns wide. */
function hasRoomForBar(): boolean {
  return process.stdout.isTTY && process.stdout.columns >= BAR_COLUMNS;
}

/** The bar's 40 and its text. */
const BAR_COLUMNS = 80;

function textOf({ dead, processed, waiting }: Standing): string {
  return `${processed} processed, ${dead} dead, ${waiting} to go`;
}

class Bar implements Progress {
  readonly #bar: ReturnType<typeof progress>;
  #done = 0;
  #text = "";

  constructor(total: number) {
    this.#bar = progress({ max: total, cancelMessage: "stopping: what is in hand is finished" });
    this.#bar.start("starting");
    // The bar reads keys and would end the process on Ctrl-C, with a database left running: as a
    // signal it comes to us.
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
  }

  update(standing: Standing): void {
    const done = standing.processed + standing.dead;
    this.#text = textOf(standing);
    this.#bar.advance(done - this.#done, this.#text);
    this.#done = done;
  }

  event(): void {}

  stop(): void {
    if (!this.#bar.isCancelled) this.#bar.stop(this.#text);
  }
}

/** So many single events are told; a file of the user's own may have thousands. */
const MOST_EVENTS = 30;

class Lines implements Progress {
  readonly #total: number;
  #last = "";
  #events = 0;

  constructor(total: number) {
    this.#total = total;
  }

  update(standing: Standing): void {
    const text = textOf(standing);
    if (text === this.#last) return;
    this.#last = text;
    printLine(`  ${standing.processed + standing.dead} of ${this.#total}: ${text}`);
  }

  event(text: string): void {
    this.#events += 1;
    if (this.#events <= MOST_EVENTS) printLine(`  ${printable(text)}`);
    if (this.#events === MOST_EVENTS) printLine("  more of these are not shown");
  }

  stop(): void {}
}
