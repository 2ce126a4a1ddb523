// Each step of the linear blocks: where it applies, and the nearest place where it must not.
import { beforeEach, describe, expect, it } from "vitest";
import { tensor } from "../../../ir/type.ts";
import { TestDraft } from "../testDraft.ts";
import { linearBlocks } from "./linearBlock.ts";

const K = 8;
const N = 6;
const ROWS = ["T", K] as const;
const OUT = ["T", N] as const;

let t: TestDraft;
let x: number;
beforeEach(() => {
  t = new TestDraft();
  x = t.input("x", ROWS);
});
const matrix = (rows = N, columns = K): number => t.weight([rows, columns]);
const linear = (of: number, rows = N, bias = -1): number =>
  t.one("linear", bias < 0 ? [of, matrix(rows)] : [of, matrix(rows), bias], ["T", rows]);
const fused = (...outputs: readonly number[]): TestDraft["kernels"] => {
  outputs.forEach((value, i) => t.output(`y${i}`, value));
  linearBlocks(t.draft);
  return t.kernels;
};
const block = (at = 0): TestDraft["draft"]["instructions"][number] => t.draft.instructions[at]!;

describe("products of the same rows", () => {
  it("become one block with biases where they have them, and all their nodes", () => {
    const bias = t.weight([N]);
    const [q, k, v] = [linear(x, N), linear(x, 4, bias), linear(x, 2)];
    expect(fused(q, k, v)).toEqual(["linear_block"]);
    expect(block().outputs).toEqual([q, k, v]);
    expect(block().inputs.slice(0, 3)).toEqual([x, -1, -1]);
    expect(
      block()
        .inputs.slice(3)
        .map((id) => id >= 0),
    ).toEqual([true, false, true, true, true, false]);
    expect(block().nodes).toEqual([0, 1, 2]);
  });
  it("stay apart for other rows, also for the same memory in another shape", () => {
    const other = t.input("z", ROWS);
    const seen = t.view(x, [1, "T", K]);
    const [a, b] = [linear(x), linear(other)];
    const c = t.one("linear", [seen, matrix()], [1, "T", N]);
    expect(fused(a, b, c)).toEqual(["linear", "linear", "linear"]);
  });
  it("do not wait for a matrix that is made later", () => {
    const a = linear(x);
    const made = t.one("dequantize", [t.weight(tensor("q8_0", [N, 32]))], [N, K]);
    const b = t.one("linear", [x, made], OUT);
    expect(fused(a, b)).toEqual(["linear", "dequantize", "linear"]);
  });
  it("of qkv_linear join too", () => {
    const parts = t.emit("qkv_linear", [x, matrix(), matrix(4), matrix(2), -1, -1, -1], [OUT, ["T", 4], ["T", 2]]);
    const more = linear(x, 3);
    expect(fused(...parts, more)).toEqual(["linear_block"]);
    expect(block().outputs).toEqual([...parts, more]);
  });
});

describe("gated products", () => {
  const gate = (of = x): number => t.one("silu", [linear(of)], OUT);
  it.each([true, false])("act(gate) * up, gate first: %s", (first) => {
    const activated = gate();
    const up = linear(x);
    const y = t.one("mul", first ? [activated, up] : [up, activated], OUT);
    const gateWeight = t.draft.instructions[0]!.inputs[1];
    expect(fused(y)).toEqual(["linear_block"]);
    expect(block()).toMatchObject({ outputs: [y], params: { gated: true, activation: 0 }, nodes: [0, 2, 1, 3] });
    expect(block().inputs[3]).toBe(gateWeight);
  });
  it("glu with its activation", () => {
    const [g, u] = [linear(x), linear(x)];
    const y = t.one("glu", [g, u], OUT, { activation: 3 });
    expect(fused(y)).toEqual(["linear_block"]);
    expect(block().params).toMatchObject({ gated: true, activation: 3 });
  });
  it("not when the activated gate, the gate, or the other factor is read elsewhere", () => {
    const a = gate();
    const one = t.one("mul", [a, linear(x)], OUT);
    const g = linear(x);
    const two = t.one("mul", [t.one("silu", [g], OUT), linear(x)], OUT);
    const u = linear(x);
    const three = t.one("mul", [gate(), u], OUT);
    expect(fused(one, a, two, g, three, u).filter((kernel) => kernel === "mul")).toHaveLength(3);
    expect(t.draft.instructions.some(({ params }) => params["gated"] === true)).toBe(false);
  });
  it("not for other rows, another function, or a factor that is spread", () => {
    const z = t.input("z", ROWS);
    const rows = t.one("mul", [gate(), linear(z)], OUT);
    const other = t.one("mul", [t.one("sigmoid", [linear(x)], OUT), linear(x)], OUT);
    const spread = t.one("mul", [gate(), linear(x, 1)], OUT);
    const square = linear(x);
    const twice = t.one("mul", [t.one("silu", [square], OUT), square], OUT);
    fused(rows, other, spread, twice);
    expect(t.kernels.filter((kernel) => kernel === "mul")).toHaveLength(4);
  });
  it("not through another shape: the block writes what its matrices make", () => {
    const shape = ["T", 2, 3] as const;
    const [g, u] = [t.view(linear(x), shape), t.view(linear(x), shape)];
    const y = t.one("mul", [t.one("silu", [g], shape), u], shape);
    expect(fused(y)).toContain("mul");
  });
});

describe("residual sums", () => {
  it.each([true, false])("join the product, product first: %s", (first) => {
    const r = t.input("r", OUT);
    const product = linear(x);
    const sum = t.one("add", first ? [product, r] : [r, product], OUT);
    expect(fused(sum)).toEqual(["linear_block"]);
    expect(block()).toMatchObject({ outputs: [sum], nodes: [0, 1] });
    expect(block().inputs[2]).toBe(r);
  });
  it("join one of two products, at the place where both are there", () => {
    const sum = t.one("add", [linear(x), linear(t.input("z", ROWS))], OUT);
    expect(fused(sum)).toEqual(["linear", "linear_block"]);
    expect(block(1).inputs[2]).toBe(block(0).outputs[0]);
  });
  it("join a gated block as well", () => {
    const r = t.input("r", OUT);
    const y = t.one("glu", [linear(x), linear(x)], OUT, { activation: 0 });
    const sum = t.one("add", [y, r], OUT);
    expect(fused(sum)).toEqual(["linear_block"]);
    expect(block()).toMatchObject({ outputs: [sum], params: { gated: true } });
    expect(block().inputs[2]).toBe(r);
  });
  it("stay when the product is read elsewhere, kept, doubled, or one of several", () => {
    const r = t.input("r", OUT);
    const a = linear(x);
    const read = t.one("add", [a, r], OUT);
    const reader = t.one("tanh", [a], OUT);
    const b = linear(t.input("z1", ROWS));
    const kept = t.one("add", [b, r], OUT);
    const c = linear(t.input("z2", ROWS));
    const doubled = t.one("add", [c, c], OUT);
    const z3 = t.input("z3", ROWS);
    const [q, k] = [linear(z3), linear(z3)];
    const several = t.one("add", [q, r], OUT);
    fused(read, reader, kept, b, doubled, several, k);
    expect(t.kernels.filter((kernel) => kernel === "add")).toHaveLength(4);
  });
  it("stay when one side is spread, half, or the product in another shape", () => {
    const spread = t.one("add", [linear(x), t.weight([N])], OUT);
    const shape = ["T", 2, 3] as const;
    const viewed = t.one("add", [t.view(linear(t.input("z", ROWS)), shape), t.input("r", shape)], shape);
    const half = tensor("f16", OUT);
    const halves = t.one("add", [t.one("linear", [t.input("h", ROWS), matrix()], half), t.input("rh", half)], half);
    fused(spread, viewed, halves);
    expect(t.kernels.filter((kernel) => kernel === "add")).toHaveLength(3);
  });
});

describe("norms", () => {
  const norm = (of: number): number => t.one("rms_norm", [of, t.weight([K])], ROWS, { eps: 1e-3 });
  it("go into the block of all their readers", () => {
    const n = norm(x);
    const weight = t.draft.instructions[0]!.inputs[1];
    const [q, k] = [linear(n), linear(n)];
    expect(fused(q, k)).toEqual(["linear_block"]);
    expect(block().params).toMatchObject({ normalise: true, eps: 1e-3 });
    expect(t.draft.bufferOf(block().inputs[0]!)).toBe(t.draft.bufferOf(x));
    expect(block().inputs[1]).toBe(weight);
    expect(block().nodes).toEqual([0, 1, 2]);
  });
  it("see rows through views of the same width", () => {
    const y = t.one("linear", [t.view(norm(x), [1, "T", K]), matrix()], [1, "T", N]);
    expect(fused(y)).toEqual(["linear_block"]);
    expect(t.draft.valueAt(block().inputs[0]!).type.shape).toEqual([1, "T", K]);
  });
  it("stay when somebody else reads them, when they are kept, and under a view of another width", () => {
    const a = norm(x);
    const one = linear(a);
    const other = t.one("tanh", [a], ROWS);
    const b = norm(t.input("z1", ROWS));
    const two = linear(b);
    const c = t.view(norm(t.input("z2", ROWS)), ["2*T", K / 2]);
    const three = t.one("linear", [c, matrix(N, K / 2)], ["2*T", N]);
    fused(one, other, two, b, three);
    expect(t.kernels.filter((kernel) => kernel === "rms_norm")).toHaveLength(3);
    expect(t.draft.instructions.some(({ params }) => params["normalise"] === true)).toBe(false);
  });
  it("stay when the residual of the same block is the norm itself", () => {
    const n = norm(x);
    const sum = t.one("add", [t.one("linear", [n, matrix(K)], ROWS), n], ROWS);
    expect(fused(sum)).toEqual(["rms_norm", "linear_block"]);
    expect(block(1).inputs.slice(0, 3)).toEqual([n, -1, n]);
  });
  it("with a sum before them part into sum and norm, which join the products on both sides", () => {
    const r = t.input("r", ROWS);
    const product = t.one("linear", [t.input("z", ["T", 4]), matrix(K, 4)], ROWS);
    const [sum, n] = t.emit("add_rms_norm", [product, r, t.weight([K])], [ROWS, ROWS], { eps: 1e-5 });
    const y = linear(n!);
    expect(fused(y, sum!)).toEqual(["linear_block", "linear_block"]);
    expect(block(0)).toMatchObject({ outputs: [sum], nodes: [0, 1] });
    expect(block(1)).toMatchObject({ outputs: [y], params: { normalise: true, eps: 1e-5 }, nodes: [1, 2] });
  });
});
