/** The lanes of a recording from top to bottom, and what a selection of time and lanes adds up to. */
import type { Device, Truth } from "../views/common.ts";
import { THREADS_DEVICE } from "../views/common.ts";
import type { ProfileView } from "../views/run.ts";
import type { Piece } from "./pieces.ts";
import { HOST_LANE, stepTruth } from "./pieces.ts";
import type { Scope, Sum } from "./sums.ts";
import { opSums } from "./sums.ts";

export interface Track {
  readonly kind: "tokens" | "host" | "lane" | "thread" | "memory";
  readonly title: string;
  /** Of `lanes`, or which thread. */
  readonly index: number;
  readonly device: Device;
  readonly truth: Truth;
}

export function tracksOf(profile: ProfileView): readonly Track[] {
  const { lanes, threads, memory } = profile;
  const truth = stepTruth(profile);
  return [
    { kind: "tokens", title: "Tokens", index: 0, device: "none", truth },
    { kind: "host", title: "JavaScript, host", index: 0, device: "host", truth },
    ...lanes.map((lane, index) => ({ kind: "lane", index, ...lane }) as const),
    ...Array.from(
      { length: threads.count },
      (_, index) =>
        ({
          kind: "thread",
          title: `CPU thread ${index + 1}`,
          index,
          device: THREADS_DEVICE,
          truth,
        }) as const,
    ),
    ...(memory.time.length === 0
      ? []
      : [{ kind: "memory", title: "Memory", index: 0, device: "none", truth: "measured" } as const]),
  ];
}

export interface Selection {
  readonly from: number;
  readonly to: number;
  /** Of the tracks, both of them inside. */
  readonly first: number;
  readonly last: number;
}

export interface SelectionSum {
  readonly seconds: number;
  /** Tokens and chunks of the prompt that it touches; null where their lane is not in it. */
  readonly steps: number | null;
  readonly sums: readonly Sum[];
  /** Each selected thread: how much of the time it worked. */
  readonly threads: readonly { readonly title: string; readonly share: number }[];
  /** Bytes of the process. */
  readonly memory: { readonly min: number; readonly max: number } | null;
}

const inside = ({ from, to }: Selection, start: number, seconds: number): number =>
  Math.max(0, Math.min(to, start + seconds) - Math.max(from, start));

const chosen = (profile: ProfileView, { first, last }: Selection): readonly Track[] =>
  tracksOf(profile).slice(first, last + 1);

/** A piece counts with the part of it that lies in the time. Threads work at what their lane counts already. */
export function selectionScope(profile: ProfileView, selection: Selection): Scope {
  const tracks = chosen(profile, selection);
  const lanes = new Set(tracks.filter(({ kind }) => kind === "lane").map(({ index }) => index));
  if (tracks.some(({ kind }) => kind === "host")) lanes.add(HOST_LANE);
  const threads = tracks.filter(({ kind }) => kind === "thread").map(({ index }) => index);
  const byThread = lanes.size === 0 && threads.length > 0;
  return {
    among: 1,
    secondsOf: (piece) => {
      if (!byThread) return lanes.has(piece.lane) ? inside(selection, piece.start, piece.seconds) : 0;
      return threads.reduce((sum, thread) => sum + inside(selection, piece.start, busyOf(profile, piece, thread)), 0);
    },
  };
}

/** What a thread worked on an instruction. */
export const busyOf = ({ threads, slices }: ProfileView, { slice }: Pick<Piece, "slice">, thread: number): number =>
  slice < 0 ? 0 : (threads.busy[thread * slices.start.length + slice] ?? 0);

export function selectionSum(profile: ProfileView, selection: Selection): SelectionSum {
  const tracks = chosen(profile, selection);
  const { steps, slices, memory } = profile;
  const seconds = selection.to - selection.from;
  const has = (kind: Track["kind"]): boolean => tracks.some((track) => track.kind === kind);
  const touched = [...steps.start.keys()].filter(
    (step) => inside(selection, steps.start[step] ?? 0, steps.seconds[step] ?? 0) > 0,
  );
  const busy = (thread: number): number =>
    slices.start.reduce((sum, start, slice) => sum + inside(selection, start, busyOf(profile, { slice }, thread)), 0);
  // The amount at a moment is that of the last look before it.
  const looks = [...memory.time.keys()].filter((i) => (memory.time[i] ?? 0) <= selection.to);
  const before = looks.filter((i) => (memory.time[i] ?? 0) < selection.from).slice(0, -1).length;
  const held = looks.slice(before).map((i) => memory.resident[i] ?? 0);
  return {
    seconds,
    steps: has("tokens") ? touched.length : null,
    sums: opSums(profile, selectionScope(profile, selection)),
    threads: tracks
      .filter(({ kind }) => kind === "thread")
      .map(({ title, index }) => ({ title, share: seconds === 0 ? 0 : busy(index) / seconds })),
    memory: has("memory") && held.length > 0 ? { min: Math.min(...held), max: Math.max(...held) } : null,
  };
}
