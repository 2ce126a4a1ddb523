/**
 * What a device does on this machine, measured with the same small graphs on each: two matrix products, reading memory, attention of
 * one token, a reduction, a quantised matrix times a vector, and the way there and back. `pickBestDevice` weighs these for a model.
 */
import { WorkbenchError, throwIfCancelled } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { TensorType } from "../ir/type.ts";
import { byteLength, tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Device } from "./device.ts";
import { median } from "./statistics.ts";

export interface Calibration {
  readonly device: Device["id"];
  readonly title: string;
  /** Operations per second of f32 products [n, n] · [n, n]. */
  readonly gemm: readonly { readonly size: number; readonly flops: number }[];
  /** Bytes per second of x + y over arrays larger than caches. */
  readonly bandwidth: number;
  /** Bytes per second of a sum. */
  readonly reduction: number;
  /** Seconds of one token over 512 keys, 16 heads of 128. */
  readonly attention: number;
  /** Bytes of Q8_0 weights per second, times one vector. */
  readonly quantised: number;
  /** Seconds of a run that computes next to nothing. */
  readonly roundTrip: number;
}

const SIZES = [256, 1024] as const;
const LARGE = 4 << 20;
const MATRIX = 2048;
const KEYS = 512;
const RUNS = 5;

/** The weight that the quantised product reads: its file is the caller's to make. */
export const CALIBRATION_WEIGHT: TensorType = tensor("q8_0", [MATRIX, MATRIX]);

type Make = (g: OpBuilder, inputs: readonly Value[], b: GraphBuilder) => Value;

function graphOf(types: readonly TensorType[], make: Make): Graph {
  const builder = new GraphBuilder(opTable, "calibration");
  const inputs = types.map((type, i) => builder.input(`x${i}`, type));
  builder.output("y", make(typedBuilder(builder), inputs, builder));
  return builder.finish();
}

/** Median seconds of some runs after one that warms up. */
async function secondsOf(
  device: Device,
  types: readonly TensorType[],
  make: Make,
  signal: AbortSignal | undefined,
): Promise<number> {
  const compiled = device.compile(graphOf(types, make));
  const session = compiled.open();
  try {
    const inputs = Object.fromEntries(
      types.map((type, i) => [
        `x${i}`,
        type.dtype === "i32" ? Int32Array.of(KEYS - 1) : new Float32Array(Number(byteLength(type)) / 4).fill(0.01),
      ]),
    );
    const seconds: number[] = [];
    for (let run = 0; run <= RUNS; run++) {
      throwIfCancelled(signal);
      const result = await session.run({ inputs, fetch: ["y"] }, signal);
      if (run > 0) seconds.push(result.seconds);
    }
    return Math.max(median(seconds), 1e-9);
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

/** `device` has the bytes of CALIBRATION_WEIGHT as its only weight. */
export async function calibrateDevice(device: Device, signal?: AbortSignal): Promise<Calibration> {
  const measure = (types: readonly TensorType[], make: Make): Promise<number> => secondsOf(device, types, make, signal);
  const f32 = (...shape: readonly number[]): TensorType => tensor("f32", shape);
  const gemm: { size: number; flops: number }[] = [];
  for (const size of SIZES) {
    const seconds = await measure([f32(size, size), f32(size, size)], (g, [a, b]) =>
      // One number comes back, so that copying the product out is not what is measured.
      g.reduce([g.matmul([a as Value, b as Value])], { kind: "max", axes: [0, 1] }),
    );
    gemm.push({ size, flops: (2 * size ** 3) / seconds });
  }
  const added = await measure([f32(LARGE), f32(LARGE)], (g, [a, b]) =>
    g.narrow([g.add([a as Value, b as Value])], { axis: 0, start: 0, length: 1 }),
  );
  const summed = await measure([f32(LARGE)], (g, [a]) => g.reduce([a as Value], { kind: "sum", axes: [0] }));
  const attention = await measure(
    [f32(1, 16, 128), f32(8, KEYS, 128), f32(8, KEYS, 128), tensor("i32", [])],
    (g, [q, k, v, past]) => g.attention_cached([q as Value, k as Value, v as Value, past as Value], { scale: 0.09 }),
  );
  const product = await measure([f32(1, MATRIX)], (g, [x], b) =>
    g.linear([x as Value, b.param("w", CALIBRATION_WEIGHT, { file: "calibration", tensor: "w" })]),
  );
  const roundTrip = await measure([f32(1)], (g, [x]) => g.neg([x as Value]));
  return {
    device: device.id,
    title: device.title,
    gemm,
    bandwidth: (3 * 4 * LARGE) / added,
    reduction: (4 * LARGE) / summed,
    attention,
    quantised: Number(byteLength(CALIBRATION_WEIGHT)) / product,
    roundTrip,
  };
}

/** What a model asks of a device. */
export interface DeviceNeed {
  readonly weightBytes: number;
  readonly parameters: number;
  readonly layers: number;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export interface DeviceRank {
  readonly device: Device["id"];
  readonly promptSeconds: number;
  readonly generateSeconds: number;
  /** Operations per second that the reading is reckoned with: the faster of the measured products. */
  readonly flops: number;
  /** Seconds of one written token. */
  readonly perToken: number;
}

/** Fastest first. Reading a prompt is bound by products, writing by reading the weights for every token. */
export function pickBestDevice(calibrations: readonly Calibration[], need: DeviceNeed): readonly DeviceRank[] {
  if (calibrations.length === 0)
    throw new WorkbenchError("ENV_NO_DEVICE", "[calibration] no device was measured: got 0, expected at least 1");
  return calibrations
    .map((known): DeviceRank => {
      const flops = known.gemm.reduce((most, each) => Math.max(most, each.flops), 0);
      const perToken = need.weightBytes / known.quantised + need.layers * known.attention + known.roundTrip;
      return {
        device: known.device,
        promptSeconds: (2 * need.parameters * need.promptTokens) / flops,
        generateSeconds: need.generateTokens * perToken,
        flops,
        perToken,
      };
    })
    .sort((a, b) => a.promptSeconds + a.generateSeconds - (b.promptSeconds + b.generateSeconds));
}
