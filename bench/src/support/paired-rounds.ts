/** What a contender did in one round: how many rows a second. */
export interface Contender {
  readonly name: string;
  /** Prepares a round; not measured. */
  prepare(): Promise<void>;
  /** Works all rows; measured. */
  run(): Promise<void>;
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
  const ratios: number[] = [];
  const rates = new Map<string, number[]>([
    [first.name, []],
    [second.name, []],
  ]);
  for (let round = 0; round < rounds; round += 1) {
    // Who goes first alternates, so that neither always meets the colder server.
    const order = round % 2 === 0 ? [first, second] : [second, first];
    const measured = new Map<Contender, number>();
    for (const contender of order) {
      const rate = await rateOf(contender, rows);
      measured.set(contender, rate);
      rates.get(contender.name)?.push(rate);
    }
    ratios.push((measured.get(first) ?? 0) / (measured.get(second) ?? 1));
  }
  ratios.sort((a, b) => a - b);
  const low = ratios[0] ?? 0;
  const high = ratios.at(-1) ?? 0;
  return {
    rounds,
    ratio: median(ratios),
    low,
    high,
    rates: Object.fromEntries([...rates].map(([name, all]) => [name, median(all)])),
    isDifferent: low > 1 || high < 1,
  };
}

async function rateOf(contender: Contender, rows: number): Promise<number> {
  await contender.prepare();
  const startedAt = performance.now();
  await contender.run();
  return rows / ((performance.now() - startedAt) / 1000);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
