/** The Mac that Core ML runs on, as the system tells it: what a plan, a time or a refusal depends on. */
import { z } from "zod";
import type { View } from "../define.ts";

export const macFacts = z.object({
  /** "Mac15,6". */
  model: z.string(),
  chip: z.string(),
  os: z.string(),
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
  /** Simulated: these are the facts of a machine that is not this one. */
  truth: z.enum(["measured", "simulated"]),
});
export type MacFacts = View<typeof macFacts>;
