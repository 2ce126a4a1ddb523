/**
 * Short runs of two programs in turn, sorted by memory bandwidth at the time. A host moves the
 * processors of a virtual machine: two of them may have their own memory channels in one second and
 * share one, or even a core, in the next. On a shared channel the ratio of two programs shows how well
 * each fills it; on two channels, how well each uses a core.
 */
import { median } from "../../main/runtime/statistics.ts";
import type { Walk } from "./walk.ts";

/** Bandwidth before and after a run that differs by more than this means that it changed. */
const STEADY = 1.2;

interface Act {
  readonly program: "ours" | "llama";
  readonly rate: number;
  /** Bytes per second of a plain read loop of all threads, before and after. */
  readonly walk: number;
}

export interface MemoryState {
  readonly runs: { readonly ours: number; readonly llama: number };
  /** Medians in bytes per second. */
  readonly ours: number;
  readonly llama: number;
  readonly walk: number;
  readonly ratio: number;
  /** The rate of a program that only reads, and our share of it. */
  readonly walkRatio: number;
  readonly oursOfWalk: number;
}

/** Runs with slower and with faster memory. Runs during which it changed are left out. */
export async function alongMemory(
  walk: Walk,
  turns: number,
  programs: Readonly<Record<Act["program"], () => Promise<number>>>,
): Promise<{ readonly slower: MemoryState; readonly faster: MemoryState; readonly unsteady: number }> {
  const acts: Act[] = [];
  let unsteady = 0;
  let before = await walk.together();
  for (let i = 0; i < turns; i++)
    for (const program of i % 2 === 0 ? (["ours", "llama"] as const) : (["llama", "ours"] as const)) {
      const rate = await programs[program]();
      const after = await walk.together();
      const steady = Math.max(before, after) <= STEADY * Math.min(before, after);
      if (steady) acts.push({ program, rate, walk: (before + after) / 2 });
      else unsteady++;
      before = after;
    }
  const middle = median(acts.map((act) => act.walk));
  return {
    slower: summary(acts.filter((act) => act.walk <= middle)),
    faster: summary(acts.filter((act) => act.walk > middle)),
    unsteady,
  };
}

function summary(acts: readonly Act[]): MemoryState {
  const rates = (program: Act["program"]): number[] =>
    acts.filter((act) => act.program === program).map(({ rate }) => rate);
  const [ours, llama] = [rates("ours"), rates("llama")];
  const walked = median(acts.map((act) => act.walk));
  return {
    runs: { ours: ours.length, llama: llama.length },
    ours: median(ours),
    llama: median(llama),
    walk: walked,
    ratio: median(ours) / median(llama),
    walkRatio: walked / median(llama),
    oursOfWalk: median(ours) / walked,
  };
}
