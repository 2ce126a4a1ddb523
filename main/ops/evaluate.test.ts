import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { evaluate } from "./evaluate.ts";
import { opTable } from "./index.ts";
import { registerCustomKernel } from "./signal/customKernels.ts";

const inputs = {
  tokens: hostTensor("i32", [2], [5, 17]),
  past: hostScalar("i32", 0),
  logit_rows: hostTensor("i32", [1], [1]),
};
const code = (name: string): unknown => expect.objectContaining({ code: name });

describe("the reference evaluator", () => {
  const model = tinyModel("llama", 1);

  it("binds symbols from what it is given, those of states too", () => {
    const open = tinyModel("llama", 1, { ...TINY_OPTIONS, capacity: "capacity", largestCapacity: 32 });
    const cache = hostTensor("f32", [2, 5, 8], new Float64Array(80));
    const grown = finish(evaluate(open, { inputs, states: { "k.0": cache, "v.0": cache }, param: tinyParam }));
    const fixed = finish(evaluate(model, { inputs, param: tinyParam }));
    expect(grown.states["k.0"]!.shape).toEqual([2, 5, 8]);
    expect([...grown.outputs["logits"]!.data]).toEqual([...fixed.outputs["logits"]!.data]);
    expect(() => finish(evaluate(open, { inputs, param: tinyParam }))).toThrow(code("IR_SHAPE"));
  });

  it("says what is missing or does not fit", () => {
    expect(() =>
      finish(evaluate(model, { inputs: { ...inputs, past: undefined as never }, param: tinyParam })),
    ).toThrow(code("INPUT_ARGUMENT"));
    expect(() => finish(evaluate(model, { inputs }))).toThrow(code("INPUT_MISSING_TENSOR"));
    const wrong = { ...inputs, tokens: hostTensor("i32", [2, 1], [5, 17]) };
    expect(() => finish(evaluate(model, { inputs: wrong, param: tinyParam }))).toThrow(code("IR_SHAPE"));
    const full = { ...inputs, past: hostScalar("i32", 15) };
    expect(() => finish(evaluate(model, { inputs: full, param: tinyParam }))).toThrow(code("RUN_CONTEXT_FULL"));
    const outside = { ...inputs, tokens: hostTensor("i32", [2], [5, 4800]) };
    expect(() => finish(evaluate(model, { inputs: outside, param: tinyParam }))).toThrow(code("RUN_FAILED"));
  });

  it("names a symbol that nothing tells", () => {
    const b = new GraphBuilder(opTable, "counted");
    b.output("y", b.apply("iota", [], { shape: [3, "2*T"], axis: 1 })[0]!);
    const graph = b.finish();
    expect(() => finish(evaluate(graph, { inputs: {} }))).toThrow(
      expect.objectContaining({
        code: "INPUT_ARGUMENT",
        message: "[iota] size of the result: got [3,2*T], expected a number for T",
      }),
    );
    const { outputs } = finish(evaluate(graph, { inputs: {}, bindings: { T: 1 } }));
    expect([...outputs["y"]!.data]).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it("stops when it is cancelled", () => {
    expect(() => finish(evaluate(model, { inputs, param: tinyParam, signal: AbortSignal.abort() }))).toThrow(
      code("CANCELLED"),
    );
  });
});

describe("custom kernels", () => {
  it("are registered once, and gone when taken back", () => {
    const kernel = { summary: "nothing", run: () => [] };
    const undo = registerCustomKernel("test.nothing", kernel);
    expect(() => registerCustomKernel("test.nothing", kernel)).toThrow(code("IR_STRUCTURE"));
    undo();
    registerCustomKernel("test.nothing", kernel)();
  });
});
