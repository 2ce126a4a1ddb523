/** What the portable door adds to the rooms behind it; its examples are run by main/testing/library.slow.test.ts. */
import { describe, expect, it } from "vitest";
import type { DType } from "../ir/dtype.ts";
import { DTYPES } from "../ir/dtype.ts";
import { numbersIn, typedArrayOf } from "../ir/hostBytes.ts";
import { MemoryParams, memoryParamsOf } from "../runtime/memoryLeaves.ts";
import { buildGraph, evaluate, freeze, grad, hostTensor, verifyGraph, vjp, vmap } from "./index.ts";

const scaled = buildGraph("scaled", (g) => {
  const x = g.input("x", "f32[T,2]");
  const y = g.mul([x, g.param("by", "f32[2]", { kind: "constant", value: 2 })]);
  g.output("y", y);
  g.output("sum", g.reduce([y], { kind: "sum", axes: [0, 1] }));
});

describe("numbers", () => {
  it("may be flat or a tensor; a symbol follows from how many there are", () => {
    const flat = evaluate(scaled, { x: [1, 2, 3, 4] }).outputs["y"]!;
    expect([flat.shape, [...flat.data]]).toEqual([
      [2, 2],
      [2, 4, 6, 8],
    ]);
    expect(evaluate(scaled, { x: hostTensor("f32", [2, 2], [1, 2, 3, 4]) }).outputs["y"]).toEqual(flat);
  });

  it.each([
    ["a missing input", {}, /got none, expected x/],
    ["an unknown input", { x: [1, 2], z: [1] }, /got x, z, expected x/],
    ["numbers that fill no row", { x: [1, 2, 3] }, /3 elements do not fill/],
  ])("refuses %s", (_, inputs, message) => {
    expect(() => evaluate(scaled, inputs)).toThrow(message);
  });

  it("refuses a parameter that is unknown or has another size", () => {
    expect(() => evaluate(scaled, { x: [1, 2] }, { params: { to: [1] } })).toThrow(/got to, expected by/);
    expect(() => evaluate(scaled, { x: [1, 2] }, { params: { by: [1] } })).toThrow(/got 1 numbers, expected 2/);
  });

  // Of every type numbers that it holds exactly; complex ones are pairs.
  it.each(DTYPES)("of %s come back from their bytes, wherever these begin", (dtype: DType) => {
    const array = typedArrayOf(hostTensor(dtype, [dtype === "c64" ? 1 : 2], [1, 0]));
    const own = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const shifted = new Uint8Array(own.length + 1);
    shifted.set(own, 1);
    expect([...numbersIn(dtype, array)]).toEqual([1, 0]);
    expect([...numbersIn(dtype, shifted.subarray(1))]).toEqual([1, 0]);
  });

  it("of a parameter are a copy", () => {
    const params = new MemoryParams(memoryParamsOf(scaled));
    params.getParam("by").fill(7);
    expect([...params.getParam("by")]).toEqual([2, 2]);
    params.setParam("by", [3, 4]);
    expect([...params.getParam("by")]).toEqual([3, 4]);
    expect(() => params.getParam("to")).toThrow(/expected a parameter in memory: by/);
  });
});

describe("graphs", () => {
  it("grad is vjp with a cotangent of one", () => {
    const inputs = { x: [1, 2, 3, 4] };
    const direct = evaluate(grad(scaled, { of: "sum", wrt: ["by"] }), inputs).outputs["gradient.by"]!;
    const general = evaluate(vjp(scaled, { of: ["sum"], wrt: ["by"] }), { ...inputs, "cotangent.sum": [1] });
    expect([...direct.data]).toEqual([4, 6]);
    expect(general.outputs["gradient.by"]).toEqual(direct);
  });

  it("grad refuses an output that is not one number", () => {
    expect(() => grad(scaled, { of: "y", wrt: ["x"] })).toThrow(/got f32\[T,2\], expected one number/);
  });

  it("vmap gives every output a batch axis", () => {
    const row = buildGraph("row", (g) => g.output("y", g.neg([g.input("x", "f32[2]")])));
    const { outputs } = evaluate(vmap(row, { size: 3, inAxes: { x: 0 } }), { x: [1, 2, 3, 4, 5, 6] });
    expect([outputs["y"]!.shape, [...outputs["y"]!.data]]).toEqual([
      [3, 2],
      [-1, -2, -3, -4, -5, -6],
    ]);
  });

  it("freeze makes parameters constants", () => {
    const frozen = freeze(scaled, { by: [5, 6] });
    expect(frozen.nodes.map(({ op }) => op)).not.toContain("param");
    expect(verifyGraph(frozen)).toEqual([]);
    expect([...evaluate(frozen, { x: [1, 1] }).outputs["y"]!.data]).toEqual([5, 6]);
  });
});
