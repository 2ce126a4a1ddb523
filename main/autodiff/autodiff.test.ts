/** Gradients and batches of whole graphs; single ops are in main/ops/conformance.test.ts. */
import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { pipelineFor } from "../compiler/pipelines.ts";
import { runPipeline } from "../passes/pipeline.ts";
import { tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { gradientGraph } from "./vjp.ts";
import { batchGraph } from "./vmap.ts";

const inputs = (tokens: readonly number[]) => ({
  tokens: hostTensor("i32", [tokens.length], tokens),
  past: hostScalar("i32", 0),
  logit_rows: hostTensor("i32", [2], [0, 2]),
});
const WRT = [
  "token_embd.weight",
  "blk.0.attn_k.weight",
  "blk.0.ffn_gate.weight",
  "blk.1.attn_norm.weight",
  "output_norm.weight",
];
const TOKENS = [5, 17, 40];

const cotangent = (like: HostTensor): HostTensor =>
  hostTensor(
    "f32",
    like.shape,
    like.data.map((_, i) => Math.sin(i + 1)),
  );

describe("the gradient of a model", () => {
  const model = tinyModel("qwen3");
  const logits = finish(evaluate(model, { inputs: inputs(TOKENS), param: tinyParam })).outputs["logits"]!;
  const ct = cotangent(logits);
  const loss = (param: (name: string, type: HostTensor) => HostTensor): number => {
    const shifted = finish(
      evaluate(model, {
        inputs: inputs(TOKENS),
        param: (name, type) => param(name, tinyParam(name, type)),
      }),
    );
    return shifted.outputs["logits"]!.data.reduce((sum, y, i) => sum + (y - logits.data[i]!) * ct.data[i]!, 0);
  };

  it.each([
    ["as built", model],
    ["after the fusions", finish(runPipeline(model, { passes: pipelineFor("cpu") })).graph],
  ] as const)("%s: equals central differences in random directions", (_, graph: Graph) => {
    const gradient = gradientGraph(graph, { of: ["logits"], wrt: WRT });
    expect(verify(opTable, gradient)).toEqual([]);
    const { outputs } = finish(
      evaluate(gradient, { inputs: { ...inputs(TOKENS), "cotangent.logits": ct }, param: tinyParam }),
    );
    for (const name of WRT) {
      const analytic = outputs[`gradient.${name}`]!;
      const direction = analytic.data.map((_x, i) => Math.cos(3 * i + 1));
      const step = 1e-5;
      const moved = (by: number) => (own: string, value: HostTensor) =>
        own === name ? { ...value, data: value.data.map((x, i) => x + by * direction[i]!) } : value;
      const numeric = (loss(moved(step)) - loss(moved(-step))) / (2 * step);
      const along = analytic.data.reduce((sum, x, i) => sum + x * direction[i]!, 0);
      expect(Math.abs(along - numeric), name).toBeLessThan(1e-6 * (1 + Math.abs(numeric)));
      expect(Math.abs(numeric), name).toBeGreaterThan(1e-6);
    }
  });
});

describe("gradients", () => {
  it("of gradients: d²/dx² of x³ is 6x", () => {
    const b = new GraphBuilder(opTable, "cube");
    const g = typedBuilder(b);
    const x = b.input("x", tensor("f32", [3]));
    b.output("y", g.mul([x, g.mul([x, x])]));
    const first = gradientGraph(b.finish(), { of: ["y"], wrt: ["x"] });
    const second = gradientGraph(first, { of: ["gradient.x"], wrt: ["x"], prefix: "second" });
    const ones = hostTensor("f32", [3], [1, 1, 1]);
    const { outputs } = finish(
      evaluate(second, {
        inputs: { x: hostTensor("f32", [3], [1, -2, 3]), "cotangent.y": ones, "cotangent.gradient.x": ones },
      }),
    );
    expect([...outputs["second.x"]!.data]).toEqual([6, -12, 18]);
  });

  it("of powers by an exponent of 0 are 0, whatever the base is, and so are theirs", () => {
    const b = new GraphBuilder(opTable, "powers");
    const g = typedBuilder(b);
    const x = b.input("x", tensor("f32", [6]));
    b.output("y", g.pow([x, g.constant(hostScalar("f32", 0))]));
    const first = gradientGraph(b.finish(), { of: ["y"], wrt: ["x"] });
    const second = gradientGraph(first, { of: ["gradient.x"], wrt: ["x"], prefix: "second" });
    const ones = hostTensor("f32", [6], [1, 1, 1, 1, 1, 1]);
    const given = {
      x: hostTensor("f32", [6], [0, -0, NaN, Infinity, -2, 3]),
      "cotangent.y": ones,
      "cotangent.gradient.x": ones,
    };
    const { outputs } = finish(evaluate(second, { inputs: given }));
    for (const name of ["gradient.x", "second.x"])
      expect(outputs[name]!.data.map(Math.abs), name).toEqual(new Float64Array(6));
  });

  it("stop where they are told to, and are zero where nothing depends", () => {
    const b = new GraphBuilder(opTable, "stop");
    const g = typedBuilder(b);
    const [x, z] = [b.input("x", tensor("f32", [2])), b.input("z", tensor("f32", [2]))];
    b.output("y", g.mul([x, g.stop_gradient([x])]));
    b.output("other", z);
    const graph = gradientGraph(b.finish(), { of: ["y"], wrt: ["x", "z"] });
    const { outputs } = finish(
      evaluate(graph, {
        inputs: {
          x: hostTensor("f32", [2], [3, 4]),
          z: hostTensor("f32", [2], [0, 0]),
          "cotangent.y": hostTensor("f32", [2], [1, 1]),
        },
      }),
    );
    expect([...outputs["gradient.x"]!.data]).toEqual([3, 4]);
    expect([...outputs["gradient.z"]!.data]).toEqual([0, 0]);
  });

  it("say why there is none", () => {
    const b = new GraphBuilder(opTable, "packed");
    const w = b.param("w", tensor("q8_0", [2, 32]), { file: "f", tensor: "w" });
    b.output("y", typedBuilder(b).dequantize([w]));
    expect(() => gradientGraph(b.finish(), { of: ["y"], wrt: ["w"] })).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_OP", message: expect.stringContaining("packed blocks are codes") }),
    );
    expect(() => gradientGraph(b.finish(), { of: ["nothing"], wrt: [] })).toThrow(
      expect.objectContaining({ code: "INPUT_ARGUMENT" }),
    );
    const complex = new GraphBuilder(opTable, "complex");
    complex.output("y", typedBuilder(complex).from_complex([complex.input("z", tensor("c64", [2]))]));
    expect(() => gradientGraph(complex.finish(), { of: ["y"], wrt: ["z"] })).toThrow(
      expect.objectContaining({
        code: "INPUT_ARGUMENT",
        message: "[vjp] wrt z: got c64[2], expected floats: a complex number moves by its two parts",
      }),
    );
  });
});

describe("the batch of a model", () => {
  it.each(["llama", "qwen2", "qwen3"] as const)("%s: equals its items one by one, caches too", (family) => {
    const model = tinyModel(family, 1);
    const items = [TOKENS, [1, 2, 3], [47, 0, 9]];
    const states = model.states.map((state) => state.name);
    const graph = batchGraph(model, ["tokens", ...states], items.length);
    expect(verify(opTable, graph)).toEqual([]);
    const together = finish(
      evaluate(graph, {
        inputs: { ...inputs(TOKENS), tokens: hostTensor("i32", [3, 3], items.flat()) },
        param: tinyParam,
      }),
    );
    const apart = items.map((tokens) => finish(evaluate(model, { inputs: inputs(tokens), param: tinyParam })));
    for (const kind of ["outputs", "states"] as const)
      for (const [name, value] of Object.entries(together[kind])) {
        const size = value.data.length / items.length;
        apart.forEach((single, i) =>
          single[kind][name]!.data.forEach((x, k) => expect(value.data[i * size + k]).toBeCloseTo(x, 10)),
        );
      }
  });
});
