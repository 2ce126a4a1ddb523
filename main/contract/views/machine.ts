/**
 * The machine in the state that numbers depend on (heat, power, memory), what its devices measured, and which of them is the
 * fastest for a model. What the system does not tell is a sentence, never a number.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { fact, figure, modelId, phaseItem } from "./common.ts";
import { runDevice } from "./engine.ts";

/** One thing that the machine tells, or does not. */
export const reading = z.object({
  /** "thermal", "power", "memory", "swap", "load", or of a device what its memory holds. */
  id: z.string(),
  /** The device whose memory it is; absent: the machine's. */
  device: runDevice.optional(),
  title: z.string(),
  /** null: not exposed on this machine. */
  value: z.string().nullable(),
  /** The counter that it comes from, or why there is none. */
  source: z.string(),
  /** ok: numbers may be compared · warning: they may not, and `value` says why · unknown: the system does not tell. */
  state: z.enum(["ok", "warning", "unknown"]),
});
export type Reading = View<typeof reading>;

export const machineState = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  readings: z.array(reading),
});
export type MachineState = View<typeof machineState>;

export const adviceInput = z.object({
  /** null: a typical model of a billion parameters in 4 bits. */
  model: modelId.nullable().default(null),
  promptTokens: z.number().int().min(0).max(1_048_576).default(512),
  generateTokens: z.number().int().min(0).max(1_048_576).default(128),
});

/** again: what was kept is measured anew, for instance because the machine was busy when it was measured. */
export const calibrateInput = adviceInput.extend({ again: z.boolean().default(false) });

export const deviceAdvice = z.object({
  promptTokens: z.number(),
  generateTokens: z.number(),
  /** What the times are for: "Pebble, 1.6 M parameters, 2.1 MB read for a token". */
  need: z.string(),
  devices: z.array(
    z.object({
      device: runDevice,
      title: z.string(),
      /** Predicted from calibration; null where the device was not measured, and `sentence` says why. */
      seconds: figure.nullable(),
      promptSeconds: figure.nullable(),
      generateSeconds: figure.nullable(),
      /** The sums, with their numbers: "2 × 1.2 B × 512 ÷ 210 GFLOP/s = 5.8 s". */
      arithmetic: z.array(fact),
      sentence: z.string(),
    }),
  ),
  best: runDevice.nullable(),
  /** "Fastest here: MLX, because …", or what is missing for it. */
  sentence: z.string(),
  /** Whether a calibration would tell more. */
  canCalibrate: z.boolean(),
});
export type DeviceAdvice = View<typeof deviceAdvice>;

/** What a device measured, in operations, bytes and seconds; rates are per second. */
const calibration = z.object({
  device: z.string(),
  title: z.string(),
  gemm: z.array(z.object({ size: z.number(), flops: z.number() })),
  bandwidth: z.number(),
  reduction: z.number(),
  attention: z.number(),
  quantised: z.number(),
  roundTrip: z.number(),
});

/** The model that devices are ranked for. */
const deviceNeed = z.object({
  weightBytes: z.number(),
  parameters: z.number(),
  layers: z.number(),
  promptTokens: z.number(),
  generateTokens: z.number(),
});

export const calibrateItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({
    kind: z.literal("measured"),
    calibrations: z.array(z.object({ calibration, how: z.enum(["kept", "measured"]) })),
    need: deviceNeed,
    /** The fastest first. */
    ranks: z.array(
      z.object({
        device: z.string(),
        flops: z.number(),
        perToken: z.number(),
        promptSeconds: z.number(),
        generateSeconds: z.number(),
      }),
    ),
  }),
  z.object({ kind: z.literal("done"), advice: deviceAdvice }),
]);
export type CalibrateItem = View<typeof calibrateItem>;
