/** What the scripted engine says of its made-up machine: its state, which device is fastest, what MLX would do. */
import type { Contract } from "../../../main/contract/contract.ts";
import type { Handlers } from "../../../main/contract/define.ts";
import type { GraphView } from "../../../main/contract/views/graph.ts";
import type { DeviceAdvice, MachineState } from "../../../main/contract/views/machine.ts";
import type { MlxRoute } from "../../../main/contract/views/mlx.ts";
import type { PlannedRoute, RouteView } from "../../../main/contract/views/route.ts";
import { deviceCode } from "../../../main/contract/views/common.ts";
import { opName } from "../../graph/graphModel.ts";
import { figure, isHidden } from "./route.ts";

export const fakeState = (): MachineState => ({
  at: 0,
  readings: [
    { id: "thermal", title: "Thermal state", value: "nominal", source: "made up for development", state: "ok" },
    { id: "power", title: "Power", value: "mains", source: "made up for development", state: "ok" },
    { id: "memory", title: "Memory", value: "16.1 GB of 24 GB free", source: "made up for development", state: "ok" },
    {
      id: "mlx-memory",
      device: "mlx",
      title: "MLX memory in use",
      value: null,
      source: "MLX is not here",
      state: "unknown",
    },
  ],
});

export function fakeAdvice(): DeviceAdvice {
  const row = (device: "cpu" | "mlx", title: string, reading: number, writing: number) => ({
    device,
    title,
    seconds: figure(reading + writing, "seconds"),
    promptSeconds: figure(reading, "seconds"),
    generateSeconds: figure(writing, "seconds"),
    arithmetic: [{ label: "one token", value: "0.4 GB ÷ 90 GB/s + 28 × 20 µs + 10 µs = 5 ms" }],
    sentence: title,
  });
  return {
    promptTokens: 512,
    generateTokens: 128,
    need: "Qwen3-0.6B, 0.4 GB read for a token",
    devices: [row("mlx", "MLX", 0.4, 0.6), row("cpu", "CPU", 2.1, 0.9)],
    best: "mlx",
    sentence: "Fastest here: MLX, because reading the prompt takes 400 ms against 2.1 s on CPU.",
    canCalibrate: false,
  };
}

/** Every op native but attention, which is taken apart. */
export function fakeOnMlx(view: GraphView): MlxRoute {
  const state = new Uint8Array(view.nodeCount);
  const reason = new Uint32Array(view.nodeCount);
  let [native, decomposed] = [0, 0];
  for (let node = 0; node < view.nodeCount; node++) {
    if (isHidden(view, node)) continue;
    const apart = opName(view, node) === "attention";
    state[node] = apart ? 2 : 1;
    reason[node] = apart ? 2 : 1;
    if (apart) decomposed++;
    else native++;
  }
  return {
    key: view.key,
    phase: view.key.phase,
    available: true,
    title: "MLX 0.30, Metal",
    sentence: `MLX runs all ${native + decomposed} ops, ${decomposed} of them as their parts.`,
    strings: ["", "mlx runs it itself.", "attention: the mask is read elsewhere, as matmul ×2, softmax."],
    nodes: { state, reason },
    counts: { native, decomposed, unsupported: 0 },
    ops: [
      {
        op: "attention",
        state: "decomposed",
        count: decomposed,
        reason: "The mask is read elsewhere.",
        parts: ["matmul", "softmax", "matmul"],
        node: 0,
      },
    ],
    weights: [
      {
        type: "q4_k",
        tensors: 168,
        form: "affine, 4 bits, groups of 32, scale and bias in f32",
        kind: "exact",
        fileBytes: 250e6,
        heldBytes: figure(330e6, "bytes", "exact"),
        bitsPerWeight: 6,
        error: figure(0, "ratio", "exact"),
      },
    ],
    heldBytes: figure(330e6, "bytes", "exact"),
    seconds: figure(0.005, "seconds"),
    arithmetic: [{ label: "one token", value: "0.4 GB ÷ 90 GB/s = 4.4 ms" }],
    whyNoTime: null,
  };
}

export const fakeDeviceCalls: Pick<Handlers<Contract>["calls"], "machine.state" | "devices.advise"> = {
  "machine.state": () => fakeState(),
  "devices.advise": () => fakeAdvice(),
};

export const fakeCalibrate: Handlers<Contract>["streams"]["devices.calibrate"] = async function* calibrate() {
  yield { kind: "phase", name: "calibrate", sentence: "Measuring", fraction: null, elapsedSeconds: 0 };
  await Promise.resolve();
  yield { kind: "done", advice: fakeAdvice() };
};

/** A plan that is the prediction but for the attention of the first block, which it puts on the GPU. */
export function fakePlanned(route: RouteView, view: GraphView): PlannedRoute {
  const predicted = Uint8Array.from(route.nodes.device);
  const planned = Uint8Array.from(predicted);
  const moved = planned.findIndex((code, node) => code === deviceCode("ane") && opName(view, node) === "attention");
  if (moved >= 0) planned[moved] = deviceCode("gpu");
  const ops = predicted.filter((code) => code !== 0).length;
  const difference = {
    node: moved,
    op: "scaled_dot_product_attention",
    output: "attention_0",
    predicted: "ane" as const,
    planned: "gpu" as const,
    cost: 0.1,
    rule: "ane.fits",
    sentence: "Every input has at most five dimensions.",
  };
  return {
    truth: "planned",
    target: route.target,
    targetTitle: route.targetTitle,
    phase: route.phase,
    machine: "Apple M4, macOS 26.5",
    refusal: null,
    sentence: `On Apple M4, macOS 26.5: ${moved >= 0 ? ops - 1 : ops} of ${ops} operators as predicted.`,
    ops,
    joined: ops,
    agreeing: moved >= 0 ? ops - 1 : ops,
    differing: moved >= 0 ? 1 : 0,
    shares: [
      { device: "ane", predicted: 0.9, planned: 0.88 },
      { device: "gpu", predicted: 0.05, planned: 0.07 },
      { device: "cpu", predicted: 0.05, planned: 0.05 },
    ],
    firstDifference: moved >= 0 ? difference : null,
    differences: moved >= 0 ? [difference] : [],
    nodes: { predicted, planned },
  };
}
