/**
 * Short runs of two programs in turn, sorted by where the machine's processors were. Those of a virtual machine are moved about: two of
 * them have ways to memory of their own in one second, and share one in the next, or even a core. Then the way is full
 * whatever reads, and a ratio of two programs says little of either.
 */
import { median } from "../../main/runtime/statistics.ts";
import type { Walk } from "./walk.ts";

/** With ways of their own each further thread adds nearly what one reads alone; over a shared way hardly anything. */
const apartFrom = (threads: number): number => 1 + 0.65 * (threads - 1);

type Paths = "apart" | "shared";
interface Probe {
  readonly paths: Paths;
  readonly all: number;
}
interface Act {
  readonly program: "ours" | "llama";
  readonly rate: number;
  readonly paths: Paths;
  readonly walk: number;
}

export interface ByPaths {
  readonly runs: { readonly ours: number; readonly llama: number };
  /** Medians in bytes per second; `walk` is a plain read loop of all threads before and after. */
  readonly ours: number;
  readonly llama: number;
  readonly walk: number;
  readonly ratio: number;
  /** What a program that only reads would come to. */
  readonly walkRatio: number;
}

/** Runs during which the processors were moved are left out. */
export async function alongPaths(
  walk: Walk,
  { turns, threads }: { readonly turns: number; readonly threads: number },
  programs: Readonly<Record<Act["program"], () => Promise<number>>>,
): Promise<Readonly<Record<Paths, ByPaths>> & { readonly moved: number }> {
  const acts: Act[] = [];
  let moved = 0;
  let before = await probe(walk, threads);
  for (let i = 0; i < turns; i++)
    for (const program of i % 2 === 0 ? (["ours", "llama"] as const) : (["llama", "ours"] as const)) {
      const rate = await programs[program]();
      const after = await probe(walk, threads);
      if (before.paths === after.paths)
        acts.push({ program, rate, paths: after.paths, walk: (before.all + after.all) / 2 });
      else moved++;
      before = after;
    }
  return { apart: summary(acts, "apart"), shared: summary(acts, "shared"), moved };
}

async function probe(walk: Walk, threads: number): Promise<Probe> {
  const { one, all } = await walk.paths();
  return { paths: all / one >= apartFrom(threads) ? "apart" : "shared", all };
}

function summary(acts: readonly Act[], paths: Paths): ByPaths {
  const here = acts.filter((act) => act.paths === paths);
  const rates = (program: Act["program"]): number[] =>
    here.filter((act) => act.program === program).map(({ rate }) => rate);
  const [ours, llama] = [rates("ours"), rates("llama")];
  const walked = median(here.map((act) => act.walk));
  return {
    runs: { ours: ours.length, llama: llama.length },
    ours: median(ours),
    llama: median(llama),
    walk: walked,
    ratio: median(ours) / median(llama),
    walkRatio: walked / median(llama),
  };
}
