/**
 * A small graph that needs no file: linear segments with a Fourier transform, an LSTM and a custom
 * host function between them, so that routing and hybrid cuts have something to show at once. Its
 * weights are seeded constants. The two feed-forward parts are large enough to be worth a dispatch
 * to the Neural Engine, the others are not.
 */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { SOFT_THRESHOLD } from "../ops/signal/customKernels.ts";

export const STEPS = 96;
export const WIDTH = 64;
const WIDE = 256;
const HIDDEN = 48;
const HEAD = 10;

/** Park and Miller's generator: the same numbers everywhere. */
function* uniformNumbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (state * 48271) % 2147483647;
    yield state / 2147483647 - 0.5;
  }
}

export function demoGraph(): Graph {
  const builder = new GraphBuilder(opTable, "demo");
  const g = typedBuilder(builder);
  const numbers = uniformNumbers(20231117);
  const weights = (shape: readonly number[], label: string): Value => {
    const scale = 2 / Math.sqrt(shape.at(-1) ?? 1);
    const data = Float64Array.from({ length: sizeOf(shape) }, () => Math.fround(numbers.next().value * scale));
    return builder.constant(hostTensor("f32", shape, data), { label });
  };
  const dense = (x: Value, out: number, inner: number, label: string): Value =>
    g.linear([x, weights([out, inner], `${label} weight`), weights([out], `${label} bias`)], {}, label);

  const signal = builder.input("signal", tensor("f32", [STEPS, WIDTH]));
  const encoded = builder.scoped("encoder", () => {
    const hidden = g.gelu([dense(signal, WIDE, WIDTH, "expand")], { approx: true }, "activation");
    return g.add([signal, dense(hidden, WIDTH, WIDE, "project")], {}, "residual");
  });
  const spectrum = builder.scoped("spectrum", () => g.fft([encoded], { inverse: false, norm: "ortho" }, "fft"));
  const filtered = builder.scoped("filter", () => {
    const gate = g.sigmoid([dense(spectrum, WIDTH, WIDTH, "gate")], {}, "sigmoid");
    return g.mul([spectrum, gate], {}, "apply");
  });
  const sparse = builder.scoped("shrink", () =>
    g.custom([filtered], { name: SOFT_THRESHOLD, outputs: [`f32[${STEPS},${WIDTH}]`] }, SOFT_THRESHOLD),
  );
  const normed = builder.scoped("features", () => {
    const hidden = g.silu([dense(sparse[0] ?? filtered, WIDE, WIDTH, "expand")], {}, "activation");
    const features = dense(hidden, WIDTH, WIDE, "project");
    return g.rms_norm([features, weights([WIDTH], "norm scale")], { eps: 1e-5 }, "norm");
  });
  const [sequence = normed, h = normed] = builder.scoped("memory", () => {
    const batch = g.reshape([normed], { shape: [1, STEPS, WIDTH] }, "batch");
    const cell = [
      weights([4 * HIDDEN, WIDTH], "input weights"),
      weights([4 * HIDDEN, HIDDEN], "state weights"),
    ] as const;
    return g.lstm(
      [batch, ...cell, weights([4 * HIDDEN], "bias")],
      { hidden: HIDDEN, layers: 1, bidirectional: false },
      "lstm",
    );
  });
  builder.scoped("head", () => {
    const last = g.reshape([h], { shape: [1, HIDDEN] }, "last state");
    const scores = dense(last, HEAD, HIDDEN, "scores");
    builder.output("probabilities", g.softmax([scores], { axis: -1 }, "softmax"));
    const steps = g.reshape([sequence], { shape: [STEPS, HIDDEN] }, "steps");
    builder.output("reconstruction", g.tanh([dense(steps, WIDTH, HIDDEN, "decode")], {}, "tanh"));
  });
  return builder.finish();
}
