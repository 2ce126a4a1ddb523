// `if` and `while` in MLX plans: real sub-graphs with several results, in all three modes; inside a compiled trace both branches are
// made and loops are unrolled up to their limit. The plans are made by hand, as the lowering would not make them: what is carried is all that there is.
import { afterAll, describe, expect, test } from "vitest";
import { MlxDraft } from "../backends/mlx/draft.ts";
import type { MlxMode } from "../backends/mlx/engine.ts";
import { MLX_MODES } from "../backends/mlx/engine.ts";
import { writePlan } from "../backends/mlx/planWriter.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { damagedPlan } from "../testing/mutatePlan.ts";
import { seededRandom } from "../testing/random.ts";
import type { MlxEngine } from "../runtime/mlxDevice.ts";
import { findMlxEngine } from "./mlxAddon.ts";

const found = findMlxEngine();
const missing = typeof found === "string" ? found : undefined;
const mlx = found as MlxEngine;
const ROW = tensor("f32", [3]);
const ONE = tensor("f32", []);
const FLAG = tensor("bool", []);

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

describe.skipIf(missing !== undefined).each(MLX_MODES)("control flow, %s", (mode) => {
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

describe.skipIf(missing !== undefined)("plans that lie", () => {
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
});

afterAll(() => {
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
