/** The Mac that Core ML runs on, as the system tells it: what a plan, a time or a refusal depends on. */
import { z } from "zod";
import type { View } from "../define.ts";

const machine = z.object({
  /** "Mac15,6". */
  model: z.string(),
  chip: z.string(),
  os: z.string(),
  /** "24F74"; empty: not told. */
  osBuild: z.string(),
  performanceCores: z.number(),
  efficiencyCores: z.number(),
  memoryBytes: z.number(),
  /** What the system charges the engine with, memory shared with GPU and Neural Engine included; 0: not told. */
  processBytes: z.number(),
  gpu: z.string(),
  /** What the GPU may hold at most. */
  gpuBytes: z.number(),
  unifiedMemory: z.boolean(),
  ane: z.boolean(),
  /** 0: not told (before macOS 14). */
  aneCores: z.number(),
  rosetta: z.boolean(),
  thermal: z.enum(["nominal", "fair", "serious", "critical"]),
  lowPower: z.boolean(),
});

/** Simulated: these are the facts, or the answers, of a machine that is not this one. */
const truth = z.enum(["measured", "simulated"]);
export const macFacts = machine.extend({ truth });
export type MacFacts = View<typeof macFacts>;

const units = z.enum(["cpu", "cpu-gpu", "cpu-ane", "all"]);
const processor = z.enum(["cpu", "gpu", "ane"]);

/** What one function of an experiment did on one choice of units. */
const finding = z.object({
  units,
  function: z.string(),
  held: z.boolean(),
  /** "relative error 3e-4", or the code and sentence of what went wrong. */
  sentence: z.string(),
  relativeError: z.number().nullable(),
  loadSeconds: z.number().nullable(),
  /** After a child process has loaded it already: shows whether the system's cache is shared. */
  trialLoadSeconds: z.number().nullable(),
  plan: z
    .array(
      z.object({
        function: z.string(),
        op: z.string(),
        output: z.string(),
        preferred: processor.or(z.literal("")),
        supported: z.array(processor),
        cost: z.number(),
        depth: z.number(),
      }),
    )
    .nullable(),
});

/** One open question about Core ML and what this Mac answers. */
export const macAnswer = z.object({
  id: z.string(),
  question: z.string(),
  /** What is assumed as long as no Mac was asked. */
  until: z.string(),
  answer: z.enum(["yes", "no", "depends on the units"]),
  findings: z.array(finding),
});
export type MacAnswer = View<typeof macAnswer>;

export const verifyItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answer"), answer: macAnswer }),
  z.object({
    kind: z.literal("done"),
    truth,
    machine: machine.extend({ osMajor: z.number(), osMinor: z.number() }),
  }),
]);
export type VerifyItem = View<typeof verifyItem>;
