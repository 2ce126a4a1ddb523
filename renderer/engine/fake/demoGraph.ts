/** A small graph with host code between device segments: spectrogram, recurrent layer, a custom op. Invented numbers. */
import type { GraphKey, GraphView } from "../../../main/contract/views/graph.ts";
import { GraphBuilder } from "./graphBuilder.ts";

export function demoGraph(key: GraphKey): GraphView {
  const g = new GraphBuilder("hybrid demo");
  const value = (op: string, name: string, inputs: readonly number[], dims: readonly number[], weight = ""): number =>
    g.node({ op, name, inputs, type: `f16[${dims.join(",")}]`, bytes: dims.reduce((a, b) => a * b, 2), weight });
  const param = (name: string, dims: readonly number[]): number =>
    g.node({ op: "param", name, type: `f16[${dims.join(",")}]`, weight: "f16", flags: ["param"] });
  const samples = g.node({ op: "input", name: "samples", type: "f32[1,4096]", bytes: 16_384, flags: ["input"] });
  const frames = value("reshape", "frames", [samples], [16, 256]);
  const windowed = value("mul", "window", [frames, param("window", [256])], [16, 256]);
  const spectrum = value("fft", "spectrum", [windowed], [16, 256]);
  const power = value("square", "power", [spectrum], [16, 256]);
  const mel = value("linear", "mel", [power, param("mel.weight", [64, 256])], [16, 64], "f16");
  const logMel = value("log", "log mel", [mel], [16, 64]);
  const recurrent = value("lstm", "lstm", [logMel, param("lstm.weight", [512, 128])], [16, 128], "f16");
  const hidden = value("linear", "hidden", [recurrent, param("hidden.weight", [128, 128])], [16, 128], "f16");
  const active = value("relu", "relu", [hidden], [16, 128]);
  const custom = value("custom", "soft_limit", [active], [16, 128]);
  const scores = value("linear", "scores", [custom, param("scores.weight", [10, 128])], [16, 10], "f16");
  g.node({ op: "softmax", name: "probabilities", inputs: [scores], type: "f16[16,10]", bytes: 320, flags: ["output"] });
  return g.finish(key, "Legal for the target");
}
