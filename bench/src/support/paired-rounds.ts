/** What a contender did in one round: how many rows a second. */
export interface Contender {
  readonly name: string;
  /** How many rows it works in a round, where that is not as many as the others. */
  readonly rows?: number;
  /** Prepares a round; not measured. */
  prepare(): Promise<void>;
  /** Works all rows; measured, unless it answers how many milliseconds it took. */
  run(): Promise<unknown>;
}

export interface PairedResult {
  readonly rounds: number;
  /** Median of the ratios (first contender's rate over the second's), pair by pair. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly rates: Readonly<Record<string, number>>;
  /** Whether 1 lies outside the spread: else the two are not told apart. */
  readonly isDifferent: boolean;
}

/** Runs A B A B... and compares pair by pair, so that what the machine does meanwhile hits both. */
export async function pairedRounds(
  [first, second]: readonly [Contender, Contender],
  rows: number,
  rounds: number,
): Promise<PairedResult> {
  const rates = await interleavedRounds([first, second], rows, rounds);
  return compare(rates, first.name, second.name);
}

/** The rates of each contender, by its name: one a round, all contenders in each round. */
export type Rates = ReadonlyMap<string, readonly number[]>;

/** Runs A B C B C A C A B...: who goes first changes, so that nobody always meets the colder server. */
export async function interleavedRounds(
  contenders: readonly Contender[],
  rows: number,
  rounds: number,
  roundEnded: (rates: Rates) => Promise<void> = async () => {},
): Promise<Rates> {
  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      rates.get(contender.name)?.push(await rateOf(contender, rows));
    }
    await roundEnded(rates);
  }
  return rates;
}

/** The first contender's rates over the second's, round by round. */
export function compare(rates: Rates, first: string, second: string): PairedResult {
  const [ofFirst = [], ofSecond = []] = [rates.get(first), rates.get(second)];
  const ratios = ofFirst.map((rate, round) => rate / (ofSecond[round] ?? 1)).sort((a, b) => a - b);
  const low = ratios[0] ?? 0;
  const high = ratios.at(-1) ?? 0;
  return {
    rounds: ratios.length,
    ratio: median(ratios),
    low,
    high,
    rates: { [first]: median(ofFirst), [second]: median(ofSecond) },
    isDifferent: low > 1 || high < 1,
  };
}

async function rateOf(contender: Contender, rows: number): Promise<number> {
  await contender.prepare();
  const startedAt = performance.now();
  const answer = await contender.run();
  const ms = typeof answer === "number" ? answer : performance.now() - startedAt;
  return (contender.rows ?? rows) / (ms / 1000);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
