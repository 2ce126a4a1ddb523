/** What a benchmark measured, as the contract tells it: figures with intervals, the knee of a thread sweep, energy, notes. */
import { decisionBetween, verdictOf } from "../../contract/benchVerdict.ts";
import { testName } from "../../contract/benchText.ts";
import type { BenchEnergy, BenchKnee, BenchSubject, BenchTest, Decision } from "../../contract/views/bench.ts";
import { intervalName, LEAST_REPEATS } from "../../contract/views/bench.ts";
import type { Figure, Truth } from "../../contract/views/common.ts";
import type { BenchReading, BenchTest as Measured } from "../../runtime/bench.ts";
import { median, medianInterval } from "../../runtime/statistics.ts";
import type { CoreKinds, EnergyCounter, Machine, NoEnergy } from "../services.ts";
import { counted } from "../words.ts";
import { figure } from "./forecast.ts";

interface ViewOptions {
  readonly subject: number;
  readonly readings: readonly BenchReading[];
  /** Watts. */
  readonly idle: number | null;
  readonly truth: Truth;
}

export function testView(test: Measured, { subject, readings, idle, truth }: ViewOptions): BenchTest {
  return {
    ...{ test: test.test, tokens: test.tokens, depth: test.depth, subject },
    samples: [...test.rates],
    rate: medianFigure(test.rates, "tokens/s", truth),
    mean: finite(test.mean),
    stddev: finite(test.deviation),
    firstToken:
      test.test === "pp" && readings.length > 0
        ? medianFigure(
            test.drawn.map(([first = NaN]) => first),
            "seconds",
            truth,
          )
        : null,
    tokenSeconds: test.test === "pp" ? [] : test.drawn.map((drawn) => drawn.map((at, i) => at - (drawn[i - 1] ?? 0))),
    joulesPerToken: joulesPerToken(test, readings, idle),
  };
}

/** A benchmark that stopped in its warm-up has nothing to say. */
const finite = (value: number): number => (Number.isFinite(value) ? value : 0);

function medianFigure(values: readonly number[], unit: Figure["unit"], truth: Truth): Figure {
  const range = medianInterval(values);
  const basis = `median of ${counted(values.length, "run")}, ${intervalName(values.length)}${values.length < LEAST_REPEATS ? "" : " by ranks"}`;
  if (values.length === 0) return figure(0, unit, truth, "no run was done");
  return figure(median(values), unit, truth, basis, { low: range.low, high: range.high });
}

function joulesPerToken(test: Measured, readings: readonly BenchReading[], idle: number | null): Figure | null {
  const each = readings.flatMap(({ joules, seconds }) =>
    joules === undefined || idle === null ? [] : [Math.max(0, joules - idle * seconds) / test.tokens],
  );
  return each.length === 0 ? null : { ...medianFigure(each, "joules", "measured"), basis: ABOVE_IDLE };
}

const ABOVE_IDLE = "the processor's counter, without what it takes when idle";

interface PhaseEnergy {
  readonly idle: number | null;
  readonly load: { readonly seconds: number; readonly joules: number };
  readonly tests: readonly { readonly test: Measured; readonly readings: readonly BenchReading[] }[];
}

export function energyView(counter: EnergyCounter | NoEnergy, { idle, load, tests }: PhaseEnergy): BenchEnergy {
  if (counter.kind === "none" || idle === null)
    return {
      ...{ idle: null, load: null, prefill: null, decode: null },
      sentence: counter.kind === "none" ? counter.sentence : "Energy was not counted.",
    };
  const joules = (value: number): Figure => figure(Math.max(0, value), "joules", "measured", ABOVE_IDLE);
  const of = (name: Measured["test"]): Figure | null => {
    const readings = tests.filter(({ test }) => test.test === name).flatMap((each) => each.readings);
    if (readings.length === 0) return null;
    return joules(readings.reduce((sum, reading) => sum + (reading.joules ?? 0) - idle * reading.seconds, 0));
  };
  return {
    sentence: `Energy of the processor and its memory, by ${counter.source}; what it takes when idle is subtracted.`,
    idle: figure(idle, "watts", "measured", "one second before the first run"),
    load: joules(load.joules - idle * load.seconds),
    prefill: of("pp"),
    decode: of("tg"),
  };
}

interface Swept {
  readonly test: Measured;
  readonly subject: number;
  readonly view: BenchSubject;
  /** Against the first subject, where the benchmark ended when that was decided. */
  readonly decision?: Decision | undefined;
}

/** Fewer points are no curve. */
const LEAST_POINTS = 3;
/** Of the best rate: from there on, more threads hardly help. */
const NEARLY = 0.95;

/** The knee of each sweep of threads; a sentence for each sweep whose repeats cannot tell one. */
export function kneesOf(
  tests: readonly Swept[],
  kinds: CoreKinds | null,
): { readonly knees: BenchKnee[]; readonly notes: string[] } {
  const sweeps = new Map<string, Swept[]>();
  for (const each of tests) {
    const { test, view } = each;
    const key = JSON.stringify([test.test, test.tokens, test.depth, view.model, view.device]);
    sweeps.set(key, [...(sweeps.get(key) ?? []), each]);
  }
  const [knees, notes]: [BenchKnee[], string[]] = [[], []];
  for (const sweep of sweeps.values()) {
    const points = sweep.filter(({ test }) => test.rates.length >= LEAST_REPEATS);
    const [first] = points;
    if (first === undefined || points.length < LEAST_POINTS) continue;
    const knee = kneeOf(
      [...points].sort((a, b) => a.view.threads - b.view.threads),
      kinds,
    );
    if (knee === undefined) notes.push(`${testName(first.test)}: these repeats cannot tell how many threads are best.`);
    else knees.push(knee);
  }
  return { knees, notes };
}

/** A knee is a verdict, and takes the same test: fewer threads are slower, and so are more, or they add nothing that shows. */
function kneeOf(points: readonly Swept[], kinds: CoreKinds | null): BenchKnee | undefined {
  const best = points.reduce((a, b) => (b.test.median > a.test.median ? b : a));
  const knee = points.find(({ test }) => test.median >= NEARLY * best.test.median) ?? best;
  const at = points.indexOf(knee);
  const [fewer, more] = [points.slice(0, at), points.slice(at + 1)];
  if (!fewer.every((point) => isFaster(knee, point))) return undefined;
  const reach = reachOf(knee, best, more);
  // With nothing below it, a point that more threads only equal is where the sweep begins, and no knee.
  if (reach === undefined && fewer.length === 0) return undefined;
  const { test, tokens, depth } = knee.test;
  const { threads } = knee.view;
  const says = reach ?? `${threadsDo(threads, "do", "does")} as well as more, as far as these repeats show`;
  return {
    ...{ test, tokens, depth, threads, subject: knee.subject },
    sentence: `${says}${coresOf(threads, kinds)}.`,
  };
}

/** What the knee gives against more threads; undefined where no difference shows. */
function reachOf(knee: Swept, best: Swept, more: readonly Swept[]): string | undefined {
  const { threads } = knee.view;
  if (knee === best)
    return more.every((point) => isFaster(knee, point)) ? `${threadsDo(threads, "give", "gives")} the most` : undefined;
  if (!isFaster(best, knee)) return undefined;
  const share = Math.round((100 * knee.test.median) / best.test.median);
  return `${threadsDo(threads, "reach", "reaches")} ${share} % of the most, which ${best.view.threads} give`;
}

const threadsDo = (threads: number, many: string, one: string): string =>
  `${counted(threads, "thread")} ${threads === 1 ? one : many}`;

/** Points of a sweep are measured in turn: the repeats of a round belong together. */
const isFaster = (one: Swept, than: Swept): boolean =>
  verdictOf({
    ...{ first: than.test.rates, second: one.test.rates, paired: true, red: [] },
    decision: decisionBetween(than, one),
  }).kind === "faster";

function coresOf(threads: number, kinds: CoreKinds | null): string {
  if (kinds === null) return "";
  const { performance, efficiency } = kinds;
  if (threads === performance) return `: as many as there are performance cores`;
  if (threads === performance + efficiency)
    return `: all cores, ${performance} performance and ${efficiency} efficiency`;
  return threads < performance
    ? `: fewer than the ${performance} performance cores`
    : `: the ${performance} performance cores and ${threads - performance} of the ${efficiency} efficiency cores`;
}

/** What makes these numbers hard to compare. */
export function benchNotes(tests: readonly Measured[], machine: Machine): string[] {
  const found: string[] = [];
  const few = tests.find(({ rates }) => rates.length < 3);
  if (few !== undefined)
    found.push(
      `${counted(few.rates.length, "run")} ${few.rates.length === 1 ? "says" : "say"} little; repeat at least ${LEAST_REPEATS} times.`,
    );
  const spread = tests.filter(({ rates, deviation, mean }) => rates.length >= 3 && deviation / mean > 0.1);
  const most = spread.reduce((all, { deviation, mean }) => Math.max(all, deviation / mean), 0);
  if (spread.length > 0)
    found.push(
      `The runs of ${spread.length === 1 ? "one test" : `${spread.length} tests`} vary by up to ${Math.round(100 * most)} % (one standard deviation): something disturbed them.`,
    );
  if (machine.freeBytes() < 1e9) found.push("Less than 1 GB of memory was free.");
  if (machine.threads < 2) found.push("Only one processor was available.");
  return found;
}
