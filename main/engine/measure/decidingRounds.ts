/** Rounds of a benchmark until each subject is decided against the first, test by test, or the time is up. */
import type { Decision } from "../../contract/views/bench.ts";
import { decisionOf } from "../../contract/decision.ts";
import type { BenchWork } from "../../runtime/bench.ts";

/** By the place of a cell; the first subject's have none. */
export type Decided = ReadonlyMap<number, Decision>;

interface PlannedCell {
  readonly work: BenchWork;
  readonly subject: number;
}

interface DecidingOptions {
  readonly seconds: number;
  /** Tokens per second of a cell in the rounds that count. */
  readonly rates: (cell: number) => readonly number[];
  /** Seconds. */
  readonly now?: () => number;
}

export interface DecidingRounds {
  readonly afterRound: () => "go on" | "stop";
  readonly decided: () => Decided;
}

export function decidingRounds(
  cells: readonly PlannedCell[],
  { seconds, rates, now = () => performance.now() / 1000 }: DecidingOptions,
): DecidingRounds {
  const pairs = cells.flatMap(({ work, subject }, second) => {
    const first = cells.findIndex((each) => each.subject === 0 && each.work === work);
    return subject === 0 || first < 0 ? [] : [{ first, second }];
  });
  const decided = new Map<number, Decision>(pairs.map(({ second }) => [second, "open"]));
  const began = now();
  let last = began;
  return {
    decided: () => decided,
    afterRound() {
      for (const { first, second } of pairs)
        // What was told once stands: a look allows for no second one.
        if (decided.get(second) === "open") decided.set(second, decisionOf(rates(first), rates(second)));
      const at = now();
      const round = at - last;
      last = at;
      const isOpen = [...decided.values()].includes("open");
      return !isOpen || at + round > began + seconds ? "stop" : "go on";
    },
  };
}
