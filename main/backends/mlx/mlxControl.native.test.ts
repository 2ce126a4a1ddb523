// `if`, `while` and `scan` in MLX plans: real sub-graphs with several results, in all three modes; inside a compiled trace both branches are
// made and loops are unrolled up to their limit. The plans are made by hand, as the lowering would not make them: what is carried is all that there is.
import { finish } from "../../ir/steps.ts";
import { afterAll, describe, expect, test } from "vitest";
import { MlxDraft } from "./draft.ts";
import type { MlxMode, MlxEngine } from "./engine.ts";
import { MLX_MODES } from "./engine.ts";
import { writePlan } from "./planWriter.ts";
import type { Graph } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import { damagedPlan } from "../../testing/mutatePlan.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { caches, endless, nest } from "../../testing/controlGraphs.ts";
import { seededRandom } from "../../testing/random.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;
const ROW = tensor("f32", [3]);
const ONE = tensor("f32", []);
const FLAG = tensor("bool", []);
/** Of windows over two axes. */
const WIDE = { padding: [0, 0], dilations: [1, 1] };

async function run(draft: MlxDraft, mode: MlxMode, inputs: Record<string, Float32Array>): Promise<number[][]> {
  const plan = mlx.loadPlan(writePlan(draft, {}), null);
  const session = plan.openSession({ mode, symbols: {} });
  try {
    const names = draft.outputs.map(({ name }) => name);
    const result = await session.run({ inputs, symbols: {}, fetch: names });
    return names.map((name) => [...new Float32Array(result.outputs[name]!.bytes.buffer)]);
  } finally {
    session.dispose();
    plan.dispose();
  }
}

/** y, z = sum(x) > 0 ? (x + x, 1) : (x · x, sum(x)) */
function branching(): MlxDraft {
  const draft = new MlxDraft();
  const x = draft.addLeaf(ROW, { kind: "input", name: "x" });
  const zero = draft.addLeaf(ONE, { kind: "constant", data: hostTensor("f32", [], [0]) });
  const one = draft.addLeaf(ONE, { kind: "constant", data: hostTensor("f32", [], [1]) });
  const [sum] = draft.addCall(0, "sum", [x], [ONE], { axes: [0] });
  const [positive] = draft.addCall(1, "greater", [sum!, zero], [FLAG], {});
  const yes = draft.addBody([ROW, ONE, ONE], (call, [a, b]) => [...call("add", [a!, a!], [ROW]), b!]);
  const no = draft.addBody([ROW, ONE, ONE], (call, [a, , s]) => [...call("multiply", [a!, a!], [ROW]), s!]);
  const [y, z] = draft.addCall(2, "if", [positive!, x, one, sum!], [ROW, ONE], { yes, no });
  draft.outputs.push({ name: "y", value: y! }, { name: "z", value: z! });
  return draft;
}

/** y, z = sum of the rows so far, of x backwards; the plan says how many rows there are. */
function scanning(length: number): MlxDraft {
  const draft = new MlxDraft();
  const x = draft.addLeaf(ROW, { kind: "input", name: "x" });
  const zero = draft.addLeaf(ONE, { kind: "constant", data: hostTensor("f32", [], [0]) });
  const body = draft.addBody([ONE, ONE], (call, [sum, row]) => {
    const [next] = call("add", [sum!, row!], [ONE]);
    return [next!, next!];
  });
  const attrs = { body, carried: 1, rows: 1, scanned: 1, length, reverse: true };
  const [end, sums] = draft.addCall(0, "scan", [zero, x], [ONE, tensor("f32", [length])], attrs);
  draft.outputs.push({ name: "end", value: end! }, { name: "sums", value: sums! });
  return draft;
}

/** count, x ← (0, x); while x[] < 100: (count + 1, x · 3) */
function looping(most: number | undefined): MlxDraft {
  const draft = new MlxDraft();
  const x = draft.addLeaf(ONE, { kind: "input", name: "x" });
  const zero = draft.addLeaf(ONE, { kind: "constant", data: hostTensor("f32", [], [0]) });
  const constant = (value: number): ReturnType<MlxDraft["addLeaf"]> =>
    draft.addLeaf(ONE, { kind: "constant", data: hostTensor("f32", [], [value]) });
  const [hundred, three, one] = [constant(100), constant(3), constant(1)];
  const carried = [ONE, ONE, ONE, ONE, ONE];
  const condition = draft.addBody(carried, (call, [, value, limit]) => call("less", [value!, limit!], [FLAG]));
  const body = draft.addBody(carried, (call, [count, value, limit, factor, step]) => [
    ...call("add", [count!, step!], [ONE]),
    ...call("multiply", [value!, factor!], [ONE]),
    limit!,
    factor!,
    step!,
  ]);
  const [count, end] = draft.addCall(0, "while", [zero, x, hundred, three, one], carried, {
    condition,
    body,
    ...(most === undefined ? {} : { most }),
  });
  draft.outputs.push({ name: "count", value: count! }, { name: "end", value: end! });
  return draft;
}

describe.skipIf(missing !== undefined).each(MLX_MODES)(`control flow, %s ${missing ?? ""}`, (mode) => {
  test("scan takes the rows that the plan speaks of, or refuses", async () => {
    const inputs = { x: Float32Array.of(1, 2, 4) };
    expect(await run(scanning(3), mode, inputs)).toEqual([[7], [7, 6, 4]]);
    for (const length of [2, 4, 300])
      await expect(run(scanning(length), mode, inputs)).rejects.toMatchObject({ code: "IR_STRUCTURE" });
  });

  test("if takes one branch, with two results", async () => {
    expect(await run(branching(), mode, { x: Float32Array.of(1, 2, 3) })).toEqual([[2, 4, 6], [1]]);
    expect(await run(branching(), mode, { x: Float32Array.of(1, -2, -3) })).toEqual([[1, 4, 9], [-4]]);
  });

  test("while stops by its condition and by its limit", async () => {
    expect(await run(looping(20), mode, { x: Float32Array.of(2) })).toEqual([[4], [162]]);
    expect(await run(looping(20), mode, { x: Float32Array.of(500) })).toEqual([[0], [500]]);
    expect(await run(looping(2), mode, { x: Float32Array.of(2) })).toEqual([[2], [18]]);
    // No trace holds a loop without a limit, or with a large one: the sub-graphs are traces then.
    expect(await run(looping(undefined), mode, { x: Float32Array.of(2) })).toEqual([[4], [162]]);
    expect(await run(looping(100_000), mode, { x: Float32Array.of(2) })).toEqual([[4], [162]]);
  });
});

describe.skipIf(missing !== undefined).each(MLX_MODES)(`graphs with control flow, %s ${missing ?? ""}`, (mode) => {
  const open = (graph: Graph) => {
    const compiled = mlxDevice(mlx, { mode }).compile(graph);
    const session = compiled.open();
    const close = (): void => {
      session.dispose();
      compiled.dispose();
    };
    return { compiled, session, close };
  };

  test("states that a branch or a loop updates", async () => {
    const graph = caches();
    const { session, close } = open(graph);
    let states = {};
    try {
      for (const [step, flag] of [1, 0, 1, 1].entries()) {
        const inputs = {
          flag: hostScalar("bool", flag),
          fresh: hostTensor("f32", [1, 1, 4], [step + 1, -step, 0.5, 2]),
          past: hostScalar("i32", step + 1),
        };
        const expected = finish(evaluate(graph, { inputs, states }));
        const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
        const { outputs } = await session.run({ inputs: given, fetch: ["before", "sum"] });
        for (const name of ["before", "sum"]) {
          const got = new Float32Array(outputs[name]!.bytes.buffer);
          expected.outputs[name]!.data.forEach((want, i) => expect(got[i]).toBeCloseTo(want, 5));
        }
        ({ states } = expected);
      }
    } finally {
      close();
    }
  });

  test("a loop without an end is cancelled", async () => {
    const { session, close } = open(endless());
    const abort = new AbortController();
    const running = session.run({ inputs: { x: Float32Array.of(1, 2, 3, 4) }, fetch: ["y"] }, abort.signal);
    setTimeout(() => abort.abort(), 30);
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
    close();
  });

  test("a trace is kept for each sub-graph of a loop that none can hold, not for each turn", async () => {
    const graph = nest(4, 8);
    const { compiled, session, close } = open(graph);
    const inputs = { x: new Float32Array(32).fill(0.5), w: new Float32Array(64).map((_, i) => Math.sin(i)) };
    for (let i = 0; i < 3; i++) await session.run({ inputs, fetch: ["y"] });
    // Condition and body of the outer loop; what is in the body is part of its trace.
    expect(compiled.facts().traces).toBe(mode === "compiled" ? 2 : 0);
    close();
  });
});

describe.skipIf(missing !== undefined)(`plans that lie ${missing ?? ""}`, () => {
  test("a plan with any byte changed is refused or loads, and never ends the process", () => {
    const bytes = writePlan(branching(), {});
    const random = seededRandom(11);
    let refused = 0;
    for (let round = 0; round < 3000; round++) {
      const changed = damagedPlan(bytes, random);
      const cut = random.integer(4) === 0 ? changed.subarray(0, random.integer(changed.length)) : changed;
      try {
        mlx.loadPlan(cut, null).dispose();
      } catch (error) {
        refused++;
        expect((error as { code?: string }).code).toMatch(/^(IR_|UNSUPPORTED_|INPUT_|ENV_NO_MEMORY)/);
      }
    }
    expect(refused).toBeGreaterThan(1000);
  });

  test("a call that cannot be is an error that names it", async () => {
    const draft = new MlxDraft();
    const x = draft.addLeaf(ROW, { kind: "input", name: "x" });
    const [y] = draft.addCall(0, "matmul", [x, x], [tensor("f32", [5])], {});
    draft.outputs.push({ name: "y", value: y! });
    for (const mode of MLX_MODES)
      await expect(run(draft, mode, { x: new Float32Array(3) })).rejects.toMatchObject({
        code: "RUN_FAILED",
        message: expect.stringContaining("matmul of [3], [3]"),
      });
  });

  test("sub-graphs that name the next one twice each are counted once each", async () => {
    const draft = new MlxDraft();
    const x = draft.addLeaf(ONE, { kind: "input", name: "x" });
    const yes = draft.addLeaf(FLAG, { kind: "constant", data: hostTensor("bool", [], [1]) });
    // As paths through them: 2 to the 30th.
    let next = draft.addBody([FLAG, ONE], (call, [, a]) => call("add", [a!, a!], [ONE]));
    for (let i = 0; i < 30; i++) {
      const inner = next;
      next = draft.addBody([FLAG, ONE], (call, [flag, a]) =>
        call("if", [flag!, flag!, a!], [ONE], { yes: inner, no: inner }),
      );
    }
    const [y] = draft.addCall(0, "if", [yes, yes, x], [ONE], { yes: next, no: next });
    draft.outputs.push({ name: "y", value: y! });
    for (const mode of MLX_MODES) expect(await run(draft, mode, { x: Float32Array.of(21) })).toEqual([[42]]);
  });

  test.each([
    ["conv", [1, 2, 4], [2, 2, 3], [1, 2, 2], { groups: 0 }, "IR_STRUCTURE"],
    ["conv", [1, 2, 4], [2, 2, 3, 1], [1, 2, 2], {}, "IR_SHAPE"],
    ["conv_transpose", [1, 2, 4], [2, 2, 3], [1, 12], {}, "IR_SHAPE"],
    ["conv_transpose", [1, 2, 4], [4], [1, 2, 6], {}, "IR_SHAPE"],
    ["pool_max", [1, 2, 4], undefined, [9, 2, 2], { kernel: [3] }, "IR_SHAPE"],
    ["pool_sum", [1, 2, 4], undefined, [1, 99, 2], { kernel: [3] }, "IR_SHAPE"],
    ["pool_sum", [1, 2, 4], undefined, [1, 2], { kernel: [3] }, "IR_SHAPE"],
    ["conv", [256, 256, 4], [1, 256, 3], [256, 1, 3], { padding: [2 ** 28], strides: [2 ** 28] }, "ENV_NO_MEMORY"],
    [
      "conv_transpose",
      [64, 1, 2, 2],
      [1, 1, 1, 1],
      [64, 1, 1, 1],
      { ...WIDE, strides: [2 ** 27, 2 ** 27] },
      "ENV_NO_MEMORY",
    ],
    ["pool_sum", [256, 256, 4], undefined, [256, 256, 3], { kernel: [3], padding: [2 ** 28] }, "ENV_NO_MEMORY"],
  ] as const)(
    "%s of %j with %j as %j is refused before memory is read",
    async (name, image, kernel, result, attrs, code) => {
      const draft = new MlxDraft();
      const x = draft.addLeaf(tensor("f32", image), { kind: "input", name: "x" });
      const given = { strides: [1], padding: [0], dilations: [1], groups: 1, ...attrs };
      const operands = [x];
      if (kernel !== undefined) {
        const data = hostTensor("f32", kernel, new Array<number>(kernel.reduce<number>((n, d) => n * d, 1)).fill(1));
        operands.push(draft.addLeaf(tensor("f32", kernel), { kind: "constant", data }));
      }
      const [y] = draft.addCall(0, name, operands, [tensor("f32", result)], given);
      draft.outputs.push({ name: "y", value: y! });
      const inputs = { x: new Float32Array(image.reduce<number>((n, d) => n * d, 1)) };
      for (const mode of MLX_MODES) await expect(run(draft, mode, inputs)).rejects.toMatchObject({ code });
    },
  );

  test("a convolution over no channels is a sum of nothing", async () => {
    const draft = new MlxDraft();
    const x = draft.addLeaf(tensor("f32", [1, 0, 4]), { kind: "input", name: "x" });
    const kernel = draft.addLeaf(tensor("f32", [1, 0, 3]), {
      kind: "constant",
      data: hostTensor("f32", [1, 0, 3], []),
    });
    const attrs = { strides: [1], padding: [0], dilations: [1], groups: 1 };
    const [y] = draft.addCall(0, "conv", [x, kernel], [tensor("f32", [1, 1, 2])], attrs);
    draft.outputs.push({ name: "y", value: y! });
    for (const mode of MLX_MODES) expect(await run(draft, mode, { x: new Float32Array(0) })).toEqual([[0, 0]]);
  });
});

afterAll(() => {
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
