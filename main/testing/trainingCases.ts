/** The cases of training that every device has to pass: linear regression and a small convolutional net, with exactly these data. */
import type { Graph } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { buildGraph } from "../library/graphs.ts";
import type { Optimizer } from "../training/optimisers/optimizer.ts";
import type { TrainConfig } from "../training/session.ts";
import { TrainingSession } from "../training/session.ts";
import type { TrainingDevice } from "../training/trainingDevice.ts";

export const TRUTH = [0.5, -1, 2] as const;

const x = Float32Array.from({ length: 24 }, (_, i) => ((7 * i + 1) % 11) / 11 - 0.5);
const target = Float32Array.from({ length: 8 }, (_, n) =>
  TRUTH.reduce((sum, w, d) => sum + w * (x[n * 3 + d] ?? 0), 0),
);
export const LINEAR = { x, target };

/** Σ (x·W − target)², with W a column. */
export const linearGraph: Graph = buildGraph("linear regression", (g) => {
  const off = g.sub([g.matmul([g.input("x", "f32[8,3]"), g.param("W", "f32[3,1]")]), g.input("target", "f32[8,1]")]);
  g.output("loss", g.reduce([g.mul([off, off])], { kind: "sum", axes: [0, 1] }));
});

export const linearSession = (
  device: TrainingDevice,
  optimizer: Optimizer | undefined,
  lr: number,
  first: number,
  more: Partial<TrainConfig> = {},
): TrainingSession =>
  new TrainingSession(
    linearGraph,
    ["W"],
    { W: [first, first, first] },
    {
      device,
      lr,
      ...(optimizer === undefined ? {} : { optimizer }),
      ...more,
    },
  );

/** Losses of a first step and so many more. */
export async function losses(
  session: TrainingSession,
  more: number,
  inputs = LINEAR as Parameters<TrainingSession["step"]>[0],
): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i <= more; i++) {
    const { loss, path } = await session.step(inputs);
    if (path !== "gradient") throw new Error(`path ${String(path)}`);
    all.push(loss);
  }
  return all;
}

/** Scale of each channel → relu → max-pool 2×2 → flatten → linear → softmax cross-entropy, summed. */
export const cnnGraph = (label: "f32" | "i32"): Graph =>
  buildGraph("small CNN", (g) => {
    const scaled = g.mul([g.input("x", "f32[8,2,4,4]"), g.param("S", "f32[1,2,1,1]")]);
    const pooled = g.pool([g.relu([scaled])], { kind: "max", kernel: [2, 2], strides: [2, 2], padding: [0, 0] });
    const logits = g.linear([g.reshape([pooled], { shape: [8, 8] }), g.param("Wfc", "f32[2,8]")]);
    const own = g.reshape([g.input("label", `${label}[8]`)], { shape: [8, 1] });
    const classes = g.constant(hostTensor(label, [1, 2], [0, 1]));
    const isOwn = g.cast([g.compare([classes, own], { op: "eq" })], { to: "f32" });
    const likely = g.log([g.softmax([logits], { axis: 1 })]);
    const sum = g.reduce([g.mul([likely, isOwn])], { kind: "sum", axes: [0, 1] });
    g.output("loss", g.sub([g.constant(hostScalar("f32", 0)), sum]));
  });

const labels = Array.from({ length: 8 }, (_, n) => n % 2);
export const cnnInputs = {
  label: labels,
  x: Float32Array.from({ length: 8 * 2 * 16 }, (_, at) => {
    const [n, channel, p] = [Math.floor(at / 32), Math.floor(at / 16) % 2, at % 16];
    return (channel === labels[n] ? 1 : 0.1) * (1 + 0.05 * p);
  }),
};
export const cnnInitial = { S: [1, 1], Wfc: Array.from({ length: 16 }, () => 0.01) };
