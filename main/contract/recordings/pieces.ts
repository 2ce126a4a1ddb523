/**
 * A recording as pieces of time: the instructions, and what lies around them. Between them they cover every step from its start
 * to the start of the next one, so that whatever is summed up of them, a token, a selection or a lane, adds up.
 */
import type { Device, Truth } from "../views/common.ts";
import type { ProfileRow, ProfileView } from "../views/run.ts";

export type PieceKind = ProfileRow["kind"];

/** What pieces are made from. */
export type Recording = Pick<ProfileView, "truth" | "strings" | "lanes" | "steps" | "slices">;

export interface Piece {
  readonly kind: PieceKind;
  readonly op: string;
  /** Where in the model it stands. */
  readonly label: string;
  readonly device: Device;
  readonly truth: Truth;
  /** Of `lanes`; -1: the host's. */
  readonly lane: number;
  readonly step: number;
  readonly start: number;
  readonly seconds: number;
  readonly bytes: number;
  /** Of `slices`; -1: it is no instruction. */
  readonly slice: number;
}

export const EDGES = "sampling, start and end";
export const BETWEEN = "JavaScript between steps";
export const HOST_LANE = -1;

/** Between two instructions that follow each other the clock's own rounding leaves less. */
const LEAST_SECONDS = 1e-8;

/** Whole steps are clocked even where the times in them are shared out. */
export const stepTruth = ({ truth }: Pick<ProfileView, "truth">): Truth =>
  truth === "attributed" ? "measured" : truth;

const known = new WeakMap<Recording["slices"], readonly Piece[]>();

/** What lies around the instructions, in the order of time. */
export function hostPieces(recording: Recording): readonly Piece[] {
  const before = known.get(recording.slices);
  if (before !== undefined) return before;
  const { steps, slices } = recording;
  const truth = stepTruth(recording);
  const pieces: Piece[] = [];
  const put = (kind: "edges" | "between", step: number, from: number, to: number): void => {
    if (to - from < LEAST_SECONDS) return;
    const op = kind === "edges" ? EDGES : BETWEEN;
    const place = { lane: HOST_LANE, device: "host", slice: -1, bytes: 0 } as const;
    pieces.push({ ...place, kind, op, label: "", truth, step, start: from, seconds: to - from });
  };
  /** Up to where each step is covered. */
  const covered = Float64Array.from(steps.start);
  for (let i = 0; i < slices.start.length; i++) {
    const step = slices.step[i] ?? 0;
    const start = slices.start[i] ?? 0;
    const at = covered[step] ?? start;
    put("edges", step, at, Math.min(start, endOf(recording, step)));
    covered[step] = Math.max(at, start + (slices.seconds[i] ?? 0));
  }
  for (let step = 0; step < steps.start.length; step++) {
    const end = endOf(recording, step);
    put("edges", step, covered[step] ?? end, end);
    const next = steps.start[step + 1];
    if (next !== undefined) put("between", step, end, next);
  }
  pieces.sort((a, b) => a.start - b.start);
  known.set(slices, pieces);
  return pieces;
}

const endOf = ({ steps }: Recording, step: number): number => (steps.start[step] ?? 0) + (steps.seconds[step] ?? 0);

/** One after the other: a long recording has hundreds of thousands. */
export function* piecesOf(recording: Recording): Generator<Piece> {
  for (let i = 0; i < recording.slices.start.length; i++) yield slicePiece(recording, i);
  yield* hostPieces(recording);
}

export function slicePiece({ slices, strings, lanes, truth }: Recording, slice: number): Piece {
  const lane = slices.lane[slice] ?? 0;
  return {
    kind: "op",
    op: strings[slices.op[slice] ?? 0] ?? "",
    label: strings[slices.label[slice] ?? 0] ?? "",
    device: lanes[lane]?.device ?? "none",
    truth: lanes[lane]?.truth ?? truth,
    lane,
    step: slices.step[slice] ?? 0,
    start: slices.start[slice] ?? 0,
    seconds: slices.seconds[slice] ?? 0,
    bytes: slices.bytes[slice] ?? 0,
    slice,
  };
}

/** From the start of a step to the start of the next, or to its end where none follows. */
export function tokenSeconds({ steps }: Pick<Recording, "steps">, step: number): number {
  const start = steps.start[step] ?? 0;
  return Math.max(steps.seconds[step] ?? 0, (steps.start[step + 1] ?? start) - start);
}

/**
 * The written tokens that speak for all: the middle half by time, so that one which another program held up does not count. Of
 * the last one it is not known when the next would have begun; it counts only where it is the only one.
 */
export function typicalTokens({ steps }: Pick<Recording, "steps">): readonly number[] {
  const written = [...steps.decode.keys()].filter((step) => steps.decode[step] === 1);
  const followed = written.filter((step) => step + 1 < steps.start.length);
  const counted = (followed.length === 0 ? written : followed).sort(
    (a, b) => tokenSeconds({ steps }, a) - tokenSeconds({ steps }, b),
  );
  // Of three the one in the middle.
  const out = counted.length < 3 ? 0 : Math.max(1, Math.floor(counted.length / 4));
  return counted.slice(out, counted.length - out);
}

export const promptSteps = ({ steps }: Pick<Recording, "steps">): readonly number[] =>
  [...steps.decode.keys()].filter((step) => steps.decode[step] !== 1);

/** "token 3": what a step is, in words. */
export function stepTitle({ steps }: Pick<Recording, "steps">, step: number): string {
  if (steps.decode[step] !== 1) return `prompt, ${steps.tokens[step] ?? 0} tokens`;
  let token = 0;
  for (let i = 0; i <= step; i++) if (steps.decode[i] === 1) token++;
  return `token ${token}`;
}
