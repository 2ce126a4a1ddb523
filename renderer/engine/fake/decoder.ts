/** A dense decoder as the engine would show it after legalisation: the shape of a real one, none of its numbers measured. */
import type { GraphKey, GraphView } from "../../../main/contract/views/graph.ts";
import { LEGAL } from "../../../main/contract/views/graph.ts";
import { GraphBuilder } from "./graphBuilder.ts";

export interface DecoderShape {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  readonly context: number;
  /** Layers whose attention output is kept in q6_k: the odd ones out. */
  readonly oddLayers: readonly number[];
}

export const QWEN_SHAPE: DecoderShape = {
  layers: 28,
  width: 1024,
  heads: 16,
  kvHeads: 8,
  headSize: 128,
  feedForward: 3072,
  vocabulary: 151_936,
  context: 2048,
  oddLayers: [],
};

export function decoderGraph(shape: DecoderShape, key: GraphKey): GraphView {
  const { width, heads, kvHeads, headSize, feedForward, vocabulary, context } = shape;
  const tokens = key.phase === "decode" ? 1 : 512;
  const g = new GraphBuilder("model");
  const bytesOf = (dims: readonly number[], each = 2): number => dims.reduce((a, b) => a * b, each);
  const value = (
    op: string,
    name: string,
    inputs: readonly number[],
    dims: readonly number[],
    weight = "",
    flags: readonly ("fused" | "output")[] = [],
  ): number => g.node({ op, name, inputs, type: `f16[${dims.join(",")}]`, bytes: bytesOf(dims), weight, flags });
  const param = (name: string, type: string, dims: readonly number[]): number =>
    g.node({ op: "param", name, type: `${type}[${dims.join(",")}]`, weight: type, flags: ["param"] });

  const ids = g.node({ op: "input", name: "tokens", type: `i32[${tokens}]`, bytes: 4 * tokens, flags: ["input"] });
  const past = g.node({ op: "input", name: "past", type: "i32[]", bytes: 4, flags: ["input"] });
  const positions = g.node({
    op: "positions",
    name: "positions",
    inputs: [past],
    type: `i32[${tokens}]`,
    bytes: 4 * tokens,
  });
  const rope = value("rope_table", "rope cos, sin", [positions], [tokens, headSize]);
  g.openGroup("embedding", "part", 1);
  let x = value(
    "gather",
    "token_embd",
    [param("token_embd.weight", "q6_k", [vocabulary, width]), ids],
    [tokens, width],
    "q6_k",
  );
  g.closeGroup();
  g.openGroup("blocks", "repeat", 2);
  for (let layer = 0; layer < shape.layers; layer++) {
    const odd = shape.oddLayers.includes(layer);
    const p = (name: string, type: string, dims: readonly number[]): number =>
      param(`blk.${layer}.${name}.weight`, type, dims);
    g.openGroup(`block ${layer}`, "block", odd ? 4 : 3, odd ? "attn_output is q6_k" : "");
    g.openGroup("attention", "part", odd ? 6 : 5);
    const normed = value("rms_norm", "attn_norm", [x, p("attn_norm", "f32", [width])], [tokens, width], "f32");
    const q = value(
      "linear",
      "attn_q",
      [normed, p("attn_q", "q4_k", [heads * headSize, width])],
      [tokens, heads * headSize],
      "q4_k",
    );
    const k = value(
      "linear",
      "attn_k",
      [normed, p("attn_k", "q4_k", [kvHeads * headSize, width])],
      [tokens, kvHeads * headSize],
      "q4_k",
    );
    const v = value(
      "linear",
      "attn_v",
      [normed, p("attn_v", "q6_k", [kvHeads * headSize, width])],
      [tokens, kvHeads * headSize],
      "q6_k",
    );
    const qHeads = value("reshape", "q heads", [q], [tokens, heads, headSize]);
    const kHeads = value("reshape", "k heads", [k], [tokens, kvHeads, headSize]);
    const vHeads = value("reshape", "v heads", [v], [tokens, kvHeads, headSize]);
    const qNorm = value(
      "rms_norm",
      "attn_q_norm",
      [qHeads, p("attn_q_norm", "f32", [headSize])],
      [tokens, heads, headSize],
      "f32",
    );
    const kNorm = value(
      "rms_norm",
      "attn_k_norm",
      [kHeads, p("attn_k_norm", "f32", [headSize])],
      [tokens, kvHeads, headSize],
      "f32",
    );
    const qRope = value("rope", "rope q", [qNorm, rope], [tokens, heads, headSize]);
    const kRope = value("rope", "rope k", [kNorm, rope], [tokens, kvHeads, headSize]);
    const state = (name: string): number =>
      g.node({
        op: "state",
        name: `${name} cache ${layer}`,
        type: `f16[${kvHeads},${context},${headSize}]`,
        bytes: 2 * kvHeads * context * headSize,
        flags: ["state"],
      });
    const kAll = value("kv_append", "k cache", [state("k"), kRope, past], [kvHeads, context, headSize]);
    const vAll = value("kv_append", "v cache", [state("v"), vHeads, past], [kvHeads, context, headSize]);
    const attended = value("attention", "causal, gqa 2", [qRope, kAll, vAll, past], [tokens, heads * headSize], "", [
      "fused",
    ]);
    const out = value(
      "linear",
      "attn_output",
      [attended, p("attn_output", odd ? "q6_k" : "q4_k", [width, heads * headSize])],
      [tokens, width],
      odd ? "q6_k" : "q4_k",
    );
    g.closeGroup();
    const added = value("add", "residual", [x, out], [tokens, width]);
    g.openGroup("feed-forward", "part", 7);
    const ffNorm = value("rms_norm", "ffn_norm", [added, p("ffn_norm", "f32", [width])], [tokens, width], "f32");
    const gateUp = value(
      "linear",
      "ffn_gate, ffn_up",
      [ffNorm, p("ffn_gate", "q4_k", [feedForward, width]), p("ffn_up", "q4_k", [feedForward, width])],
      [tokens, 2 * feedForward],
      "q4_k",
      ["fused"],
    );
    const activated = value("swiglu", "swiglu", [gateUp], [tokens, feedForward], "", ["fused"]);
    const down = value(
      "linear",
      "ffn_down",
      [activated, p("ffn_down", "q6_k", [width, feedForward])],
      [tokens, width],
      "q6_k",
    );
    g.closeGroup();
    x = value("add", "residual", [added, down], [tokens, width]);
    g.closeGroup();
  }
  g.closeGroup();
  g.openGroup("head", "part", 8);
  const last = value(
    "rms_norm",
    "output_norm",
    [x, param("output_norm.weight", "f32", [width])],
    [tokens, width],
    "f32",
  );
  value("linear", "output", [last, param("output.weight", "q6_k", [vocabulary, width])], [tokens, vocabulary], "q6_k", [
    "output",
  ]);
  g.closeGroup();
  return g.finish(key, key.stage.step === LEGAL ? "Legal for the target" : "As the file builds it");
}
