/**
 * Whether an advice holds on this machine: the same test before and after the change, in turns, so that what drifts (heat, load)
 * meets both. Each pair gives a ratio; where 1 lies within the interval of their median, no difference was found.
 */
import type { AdviceVerdict } from "../../contract/views/advice.ts";
import { LEAST_REPEATS, intervalName } from "../../contract/views/bench.ts";
import { median, medianInterval } from "../../runtime/statistics.ts";
import { figure } from "../measure/forecast.ts";
import { counted } from "../words.ts";

export interface Pair {
  readonly before: number;
  readonly after: number;
}

/** Seconds of one test, on either side. */
export interface Sides {
  readonly before: () => Promise<number>;
  readonly after: () => Promise<number>;
}

/** A, B, B, A, …: neither side is always the first. The first turn of each warms up and does not count. */
export async function* interleaved({ before, after }: Sides, pairs: number): AsyncGenerator<Pair, readonly Pair[]> {
  await before();
  await after();
  const measured: Pair[] = [];
  for (let i = 0; i < pairs; i++) {
    const first = i % 2 === 0 ? await before() : undefined;
    const second = await after();
    const pair = { before: first ?? (await before()), after: second };
    measured.push(pair);
    yield pair;
  }
  return measured;
}

export function verdictOf(
  pairs: readonly Pair[],
  { machine, at, notes }: Pick<AdviceVerdict, "machine" | "at" | "notes">,
): AdviceVerdict {
  const ratios = pairs.map(({ before, after }) => before / after);
  const middle = median(ratios);
  const { low, high } = medianInterval(ratios);
  const told = ratios.length >= LEAST_REPEATS;
  const outcome = told && low > 1 ? "faster" : told && high < 1 ? "slower" : "no-difference";
  const percent = (ratio: number): string => `${ratio >= 1 ? "+" : "−"}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;
  const range = `${intervalName(ratios.length)} ${percent(low)} … ${percent(high)}, ${counted(ratios.length, "pair")}`;
  const sentence =
    outcome === "no-difference"
      ? `No significant difference on this machine (${range}).`
      : `${outcome === "faster" ? "Faster" : "Slower"} on this machine: ${percent(middle)} tokens per second (${range}).`;
  return {
    outcome,
    sentence,
    ratio: figure(middle, "ratio", "measured", `time before over time after, ${intervalName(ratios.length)}`, {
      low,
      high,
    }),
    pairs: pairs.length,
    machine,
    at,
    notes: [
      ...notes,
      ...(told ? [] : [`${counted(pairs.length, "pair")} say little; measure at least ${LEAST_REPEATS}.`]),
    ],
  };
}
