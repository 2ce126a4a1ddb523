/** Two benchmark results: the ratio of their medians with its 95 % interval, and a sentence that says no more than that. */
import { LEAST_REPEATS } from "../../../main/contract/views/run.ts";
import type { BenchTest } from "../../../main/contract/views/run.ts";
import { plural, significant } from "../../ui/format.ts";
import type { BenchEntry } from "./slice.ts";

export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface ComparedTest {
  readonly test: "pp" | "tg";
  readonly left: BenchTest;
  readonly right: BenchTest;
  readonly ratio: Ratio;
  readonly sentence: string;
}

const RESAMPLES = 2000;

function median(values: readonly number[]): number {
  const order = [...values].sort((a, b) => a - b);
  const middle = order.length >> 1;
  const high = order[middle] ?? NaN;
  return order.length % 2 === 1 ? high : ((order[middle - 1] ?? NaN) + high) / 2;
}

/** A linear congruential generator with a fixed seed (Knuth's constants): the same samples give the same interval. */
function generator(): () => number {
  let state = 20_261n;
  return () => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 40n) / 2 ** 24;
  };
}

/** Right to left. Percentile bootstrap: both sides are drawn anew, because both are uncertain. */
export function ratioOfMedians(left: readonly number[], right: readonly number[]): Ratio {
  const random = generator();
  const draw = (values: readonly number[]): number =>
    median(values.map(() => values[Math.floor(random() * values.length)] ?? NaN));
  const ratios = Array.from({ length: RESAMPLES }, () => draw(right) / draw(left)).sort((a, b) => a - b);
  const at = (share: number): number => ratios[Math.round(share * (RESAMPLES - 1))] ?? NaN;
  return { value: median(right) / median(left), low: at(0.025), high: at(0.975) };
}

function sentenceOf(ratio: Ratio, repeats: number): string {
  if (repeats < LEAST_REPEATS)
    return `With ${plural(repeats, "repeat")} nothing can be said: measure at least ${LEAST_REPEATS}.`;
  if (ratio.low <= 1 && ratio.high >= 1) return "No difference that these repeats can show.";
  const [by, word] = ratio.value > 1 ? [ratio.value, "faster"] : [1 / ratio.value, "slower"];
  return `The second is ${significant(by)} × ${word === "faster" ? "as fast" : "slower"}.`;
}

export function compareBench(left: BenchEntry, right: BenchEntry): readonly ComparedTest[] {
  return left.result.tests.flatMap((mine) => {
    const other = right.result.tests.find(({ test }) => test === mine.test);
    if (other === undefined || mine.samples.length === 0 || other.samples.length === 0) return [];
    const ratio = ratioOfMedians(mine.samples, other.samples);
    const repeats = Math.min(mine.samples.length, other.samples.length);
    return [{ test: mine.test, left: mine, right: other, ratio, sentence: sentenceOf(ratio, repeats) }];
  });
}

/** What else differs between the two: the reader decides whether it is the question or a mistake. */
export function benchDifferences(left: BenchEntry, right: BenchEntry): readonly string[] {
  const pairs: readonly (readonly [string, string | number, string | number])[] = [
    ["model", left.model, right.model],
    ["device", left.result.device, right.result.device],
    ["threads", left.result.threads, right.result.threads],
    ["kernels", left.result.kernels, right.result.kernels],
    ["prompt tokens", left.settings.promptTokens, right.settings.promptTokens],
    ["tokens to write", left.settings.generateTokens, right.settings.generateTokens],
    ["machine", left.result.machine, right.result.machine],
  ];
  return pairs.filter(([, a, b]) => a !== b).map(([name, a, b]) => `${name} ${a} → ${b}`);
}
