/**
 * Whether an advice holds on this machine: the same test before and after the change, in turns and behind the gate of every
 * benchmark, with the verdict of every comparison. Where 1 lies within the interval of the ratios, no difference was found; where
 * something disturbed the machine, nothing is said.
 */
import { verdictOf } from "../../contract/benchVerdict.ts";
import type { Compared } from "../../contract/benchVerdict.ts";
import type { AdviceVerdict } from "../../contract/views/advice.ts";
import { LEAST_REPEATS, intervalName } from "../../contract/views/bench.ts";
import type { MachineState } from "../../contract/views/machine.ts";
import type { Cell } from "../../runtime/inTurn.ts";
import { inTurn } from "../../runtime/inTurn.ts";
import { figure } from "../measure/forecast.ts";
import type { Gate } from "../measure/gate.ts";
import { counted } from "../words.ts";

export interface Pair {
  readonly before: number;
  readonly after: number;
}

/** One repeat of the test on either side; a sample has its seconds. */
export interface Sides {
  readonly before: Cell<{ readonly seconds: number }>;
  readonly after: Cell<{ readonly seconds: number }>;
}

export interface Trial extends Pick<Compared, "red"> {
  readonly pairs: readonly Pair[];
  readonly conditions: { readonly before: MachineState; readonly after: MachineState };
  /** Why it ended early; null where it did not. */
  readonly stopped: string | null;
}

export interface TrialOptions {
  readonly pairs: number;
  readonly signal: AbortSignal;
  readonly gate: Gate;
  /** A round that was disturbed comes again under its own index. */
  readonly onPair: (index: number, pair: Pair) => void;
}

/** The first turn of each side warms up and does not count. */
export async function trialOf(sides: Sides, { pairs, signal, gate, onPair }: TrialOptions): Promise<Trial> {
  const begun = await gate.begin();
  let first = NaN;
  const taken = await inTurn([sides.before, sides.after], {
    ...{ repeats: pairs, warmup: 1, signal, afterRound: () => gate.afterRound() },
    onSample({ cell, index, warmup, sample: { seconds } }) {
      if (cell === 0) first = seconds;
      else if (!warmup) onPair(index, { before: first, after: seconds });
    },
  });
  const [before = [], after = []] = taken;
  return {
    pairs: before.map(({ seconds }, i) => ({ before: seconds, after: after[i]?.seconds ?? NaN })),
    conditions: { before: begun, after: await gate.end() },
    red: gate.red(),
    stopped: gate.stopped(),
  };
}

const OUTCOME = {
  faster: "faster",
  slower: "slower",
  even: "no-difference",
  "too few": "no-difference",
  "not comparable": "not-comparable",
} as const;

const percent = (ratio: number): string => `${ratio >= 1 ? "+" : "−"}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;

export function adviceVerdictOf(
  { pairs, red, stopped }: Pick<Trial, "pairs" | "red" | "stopped">,
  { machine, at, notes }: Pick<AdviceVerdict, "machine" | "at" | "notes">,
): AdviceVerdict {
  // Tokens per second are the inverse of seconds; how many tokens does not matter to a ratio.
  const rates = (side: keyof Pair): readonly number[] => pairs.map((pair) => 1 / pair[side]);
  const found = verdictOf({ first: rates("before"), second: rates("after"), paired: true, red });
  const { kind, ratio } = found;
  const rest = { pairs: pairs.length, machine, at };
  const all = [...(stopped === null ? [] : [stopped]), ...notes];
  if (ratio === null) return { outcome: OUTCOME[kind], sentence: found.sentence, ratio: null, ...rest, notes: all };
  const { value, low, high } = ratio;
  const interval = intervalName(pairs.length);
  const range = `${interval} ${percent(low)} … ${percent(high)}, ${counted(pairs.length, "pair")}`;
  const outcome = OUTCOME[kind];
  const few = `${counted(pairs.length, "pair")} say little; measure at least ${LEAST_REPEATS}.`;
  return {
    outcome,
    sentence:
      outcome === "no-difference"
        ? `No significant difference on this machine (${range}).`
        : `${outcome === "faster" ? "Faster" : "Slower"} on this machine: ${percent(value)} tokens per second (${range}).`,
    ratio: figure(value, "ratio", "measured", `time before over time after, ${interval}`, { low, high }),
    ...rest,
    notes: kind === "too few" ? [...all, few] : all,
  };
}
