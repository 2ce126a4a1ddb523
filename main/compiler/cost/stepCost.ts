/**
 * What one step of a program costs on a machine: seconds by node, by segment and by hop, and their sum. A step is a token in
 * decode and a chunk of the prompt in prefill. The parts make up the whole: step = segments + hops + caches that a call passes,
 * and a segment = its nodes + what belongs to none of them + starting it.
 */
import type { Seconds, SecondsColumns } from "./seconds.ts";
import { NO_TIME, sumOf } from "./seconds.ts";

export type CostDevice = "ane" | "gpu" | "cpu" | "host";

export interface SegmentCost {
  readonly device: CostDevice;
  /** Arithmetic and memory of its operations. */
  readonly work: Seconds;
  /** Starting it, or each of its operations. */
  readonly starting: Seconds;
  readonly whole: Seconds;
  /** What its operations move. Values: activations and caches. */
  readonly weightBytes: number;
  readonly valueBytes: number;
  readonly flops: number;
}

export interface StepCost {
  /** Tokens that a step reads. */
  readonly tokens: number;
  readonly nodes: SecondsColumns;
  readonly segments: readonly SegmentCost[];
  readonly hops: readonly Seconds[];
  /** Copying the caches that a call passes in and out, where the program keeps no states. */
  readonly caches: Seconds;
  readonly cacheBytes: number;
  readonly step: Seconds;
  /** Of the step, what grows with no size: starting things, and handing over. */
  readonly overhead: Seconds;
}

/** Adds up; the only maker, so that no whole differs from the sum of its parts. */
export function stepCost(
  parts: Omit<StepCost, "step" | "overhead" | "segments"> & {
    readonly segments: readonly Omit<SegmentCost, "whole">[];
  },
): StepCost {
  const segments = parts.segments.map((segment) => ({ ...segment, whole: sumOf([segment.work, segment.starting]) }));
  const { hops, caches } = parts;
  return {
    ...parts,
    segments,
    step: sumOf([...segments.map(({ whole }) => whole), ...hops, caches]),
    overhead: sumOf([...segments.map(({ starting }) => starting), ...hops]),
  };
}

/** Bytes that a step moves between memory and the units. */
export const movedByStep = ({ segments }: StepCost): number =>
  segments.reduce((sum, { weightBytes, valueBytes }) => sum + weightBytes + valueBytes, 0);

/** Of the step on a device, starting it included. */
export const deviceSeconds = ({ segments }: StepCost, device: CostDevice): Seconds =>
  segments.some((segment) => segment.device === device)
    ? sumOf(segments.filter((segment) => segment.device === device).map(({ whole }) => whole))
    : NO_TIME;

/** A step whose work is shorter is over before the program around it has sampled a token. */
export const SHORTEST_WORK = 5e-4;

/**
 * Whether a rate would follow from what no forecast knows well: starting and handing over take most of a step, or its work is so
 * short that all that lies around it takes longer.
 */
export const isBoundByStarts = ({ step, overhead }: Record<"step" | "overhead", Pick<Seconds, "value">>): boolean =>
  overhead.value > step.value / 2 || step.value - overhead.value < SHORTEST_WORK;

/** Steps that read so many tokens. */
export const stepsFor = ({ tokens }: StepCost, promptTokens: number): number => Math.ceil(promptTokens / tokens);
