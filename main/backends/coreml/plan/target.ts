/**
 * What a prediction is for: chip family, macOS version, allowed units, weight profile, context and phase. No routing number
 * is given without one.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { MilOpset } from "../mil/types.ts";
import type { TargetOptions } from "../levers.ts";
import type { WeightProfile } from "../weights/forms.ts";
import { floatOf, keepsPacked, keepsStates } from "../weights/forms.ts";

export interface Chip {
  readonly id: string;
  readonly title: string;
  /** Of the Neural Engine: M1 = 1. */
  readonly generation: number;
  /** Time that one dispatch to the Neural Engine takes at least, in milliseconds (measured for M1 and M5, between them interpolated). */
  readonly dispatchFloorMs: number;
  readonly sentence: string;
}

export const CHIPS = [
  {
    id: "m1",
    title: "M1 family",
    generation: 1,
    dispatchFloorMs: 0.23,
    sentence: "First Neural Engine on a Mac: no sine or cosine, no sorting, convolutions up to 13 wide.",
  },
  {
    id: "m2",
    title: "M2 family",
    generation: 2,
    dispatchFloorMs: 0.2,
    sentence: "Sorting and resizing run on the Neural Engine, convolutions up to 16 wide.",
  },
  {
    id: "m3",
    title: "M3 family",
    generation: 3,
    dispatchFloorMs: 0.17,
    sentence: "Sine and cosine run on the Neural Engine.",
  },
  {
    id: "m4",
    title: "M4 family",
    generation: 4,
    dispatchFloorMs: 0.14,
    sentence: "Wider tensors: up to 65 536 along width and height.",
  },
  {
    id: "m5",
    title: "M5 family",
    generation: 5,
    dispatchFloorMs: 0.11,
    sentence: "The shortest dispatch to the Neural Engine so far.",
  },
] as const satisfies readonly Chip[];
export type ChipId = (typeof CHIPS)[number]["id"];

/** Most elements that its Neural Engine holds along width or height. */
export const aneEdge = ({ generation }: Chip): number => (generation >= 4 ? 65_536 : 16_384);

export interface System {
  readonly id: string;
  readonly title: string;
  readonly opset: MilOpset;
  readonly sentence: string;
}

export const SYSTEMS = [
  {
    id: "macos14",
    title: "macOS 14",
    opset: "CoreML7",
    sentence: "No states, no several functions, no packed weights below 8 bits: weights are fp16.",
  },
  {
    id: "macos15",
    title: "macOS 15",
    opset: "CoreML8",
    sentence: "States, functions that share weights, blockwise 4-bit weights.",
  },
  { id: "macos26", title: "macOS 26", opset: "CoreML9", sentence: "As macOS 15, with int8 inputs and outputs." },
] as const satisfies readonly System[];
export type SystemId = (typeof SYSTEMS)[number]["id"];

export const UNITS = [
  { id: "cpu-ane", title: "CPU and Neural Engine", sentence: "What RLX asks for: the GPU stays free." },
  { id: "all", title: "All units", sentence: "Core ML chooses among CPU, GPU and Neural Engine." },
  { id: "cpu-gpu", title: "CPU and GPU", sentence: "Packed weights stay packed." },
  { id: "cpu", title: "CPU only", sentence: "The most exact, and the slowest." },
] as const;
export type Units = (typeof UNITS)[number]["id"];

export const PHASES = ["prefill", "decode"] as const;
export type Phase = (typeof PHASES)[number];

export interface PlanTarget {
  readonly chip: ChipId;
  readonly os: SystemId;
  readonly units: Units;
  readonly profile: WeightProfile;
  readonly context: number;
  readonly phase: Phase;
  /** Absent: all off. */
  readonly options?: TargetOptions;
}

/** As a user states it: `auto` lets the profile follow the units. */
export interface StatedTarget {
  /** A family, or a variant of one: placement follows the family. */
  readonly chip: string;
  readonly os: string;
  readonly units: Units;
  readonly profile: WeightProfile | "auto";
  readonly context: number;
  readonly options?: TargetOptions | undefined;
}

/** Packed weights under CPU + ANE would land on the CPU, so those units get fp16; and before macOS 15 nothing else exists. */
export function profileFor(units: Units, os: SystemId): WeightProfile {
  return units === "cpu-ane" || systemOf(os).opset === "CoreML7" ? "ane" : "gpu";
}

/** A profile in the words of the target's form. */
const WEIGHTS: Readonly<Record<WeightProfile, string>> = { ane: "f16", gpu: "packed", exact: "exact", f32: "f32" };

const weightsText = (profile: WeightProfile): string => `${WEIGHTS[profile]} weights`;

/** What reads the weights: the Neural Engine takes f16 only, and packed ones under CPU + ANE land on the CPU. */
export function readingUnit(units: Units, profile: WeightProfile): "cpu" | "gpu" | "ane" {
  if (units === "cpu") return "cpu";
  if (profile === "ane" && units !== "cpu-gpu") return "ane";
  return units === "cpu-ane" ? "cpu" : "gpu";
}

/** A stated profile, or the one that follows. */
export const profileOf = ({ profile, units, os }: Pick<StatedTarget, "profile" | "units" | "os">): WeightProfile =>
  profile === "auto" ? profileFor(units, systemOf(os).id) : profile;

function find<T extends { readonly id: string }>(list: readonly T[], id: string, what: string): T {
  const found = list.find((item) => item.id === id);
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[target] unknown ${what}: got ${JSON.stringify(id)}, expected ${list.map((i) => i.id).join(", ")}`,
  );
}

/** The family of a variant: "m4-pro" and "m4-max-16" are an m4. The Neural Engine and its rules are the family's. */
export const familyOf = (id: string): string => /^(m\d+)-(?:pro|max|ultra)(?:-\d+)?$/.exec(id)?.[1] ?? id;

export const chipOf = (id: string): (typeof CHIPS)[number] => find(CHIPS, familyOf(id), "chip");
export const systemOf = (id: string): (typeof SYSTEMS)[number] => find(SYSTEMS, id, "system");

export function resolveTarget(stated: StatedTarget, phase: Phase): PlanTarget {
  const [chip, os] = [chipOf(stated.chip).id, systemOf(stated.os).id];
  const profile = profileOf(stated);
  if (systemOf(os).opset === "CoreML7" && keepsPacked(profile))
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[target] ${weightsText(profile)} need macOS 15: got ${systemOf(os).title}`,
      { hint: "Choose macOS 15, or f16 or f32 weights (ane or f32)." },
    );
  const { options, context } = stated;
  if (options?.states === true && (systemOf(os).opset === "CoreML7" || floatOf(profile) === "fp32"))
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[target] states are f16 and need macOS 15: got ${weightsText(profile)} on ${systemOf(os).title}`,
      { hint: "Choose macOS 15 and packed or f16 weights (gpu or ane), or leave the states option off." },
    );
  if ((options?.palette ?? null) !== null && floatOf(profile) === "fp32")
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[target] a palette holds f16 values: got ${weightsText(profile)}, which are f32`,
      { hint: "Choose packed or f16 weights (gpu or ane), or leave the palette option off." },
    );
  const prefillUnits = options?.prefillUnits ?? stated.units;
  if (prefillUnits !== stated.units && keepsStates(profile, systemOf(os).opset, options?.states === true))
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[target] units of its own for prefill need caches that calls pass: got ${weightsText(profile)}, whose caches are states`,
      { hint: "Choose f16 weights (ane) and leave the states option off: a state belongs to one loaded model." },
    );
  // Weights are the package's, of both functions: they follow from the units of decode.
  const units = phase === "prefill" ? prefillUnits : stated.units;
  return { chip, os, units, profile, context, phase, ...(options !== undefined && { options }) };
}

/** What is on, beside the units of prefill, which the units say. */
function optionWords(options: TargetOptions | undefined): readonly string[] {
  if (options === undefined) return [];
  return [
    ...(options.splitRows ? ["matrices split"] : []),
    ...(options.islands ? ["islands joined"] : []),
    ...(options.states ? ["caches as states"] : []),
    ...(options.palette === null ? [] : [`${options.palette}-bit palette`]),
  ];
}

/** "M2 family · macOS 15 · CPU and Neural Engine · f16 weights · 4096 tokens · decode". */
export const targetTitle = (target: PlanTarget): string => titleOf(target, [`${target.context} tokens`, target.phase]);

/** Of a graph without a model, which has neither a context nor phases. */
export const graphTargetTitle = (target: PlanTarget): string => titleOf(target, []);

function titleOf(target: PlanTarget, step: readonly string[]): string {
  const units = UNITS.find((u) => u.id === target.units)?.title ?? target.units;
  return [
    chipOf(target.chip).title,
    systemOf(target.os).title,
    units,
    weightsText(target.profile),
    ...step,
    ...optionWords(target.options),
  ].join(" · ");
}
