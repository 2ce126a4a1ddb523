// What the simulator runs without a kernel: branches against coremltools and JAX, loops against JAX, states against NumPy.
import { describe, expect, it } from "vitest";
import type { MilBranch, NumericTensor, OracleTensor } from "../../../testing/oracle.ts";
import { jaxEval, milCond, numpyEval, oracleMissing, tensor } from "../../../testing/oracle.ts";
import { seededRandom } from "../../../testing/random.ts";
import { roundToHalf } from "../../../quant/half.ts";
import type { BuildableOp, BuiltBlock } from "../mil/builder.ts";
import { BUILT_OPS, MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilOperation, MilTensorType, MilValue } from "../mil/types.ts";
import { nestedOperations, tensorType } from "../mil/types.ts";
import { Constants } from "./constants.ts";
import { SIMULATED_OPS } from "./kernels.ts";
import { SimFunction, SimState } from "./simFunction.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { packageTensor } from "../package/packageTensor.ts";

const SHAPE = [3, 5] as const;
const FLOAT = tensorType("fp32", SHAPE);
const COUNT = tensorType("int32", []);

const random = seededRandom(17);
/** Numbers that both float types hold exactly. */
const floats = (count: number): Float64Array =>
  Float64Array.from({ length: count }, () => roundToHalf((random.integer(4001) - 2000) / 1000));

type Made = Readonly<Record<string, PackageTensor>>;

/** Every kind of operator that a program of this file holds. */
const met = new Set<string>();
function functionOf(build: (b: MilFunctionBuilder) => void): SimFunction {
  const builder = new MilFunctionBuilder("main", "CoreML8", new NameTable());
  build(builder);
  const made = builder.finish();
  const operations = made.operations.flatMap((op): readonly MilOperation[] => [op, ...nestedOperations(op)]);
  for (const { type } of operations) met.add(type);
  return new SimFunction(made, new Constants(undefined));
}

function choose(
  b: MilFunctionBuilder,
  pred: MilValue,
  branches: readonly [() => MilValue, () => MilValue],
): readonly MilValue[] {
  const [yes, no] = branches.map((branch) => b.block([], () => [branch()]));
  return b.nested("cond", [["pred", [pred]]], [yes!, no!], yes!.types);
}

function expectClose(got: PackageTensor | undefined, want: NumericTensor | undefined): void {
  expect(got?.shape).toEqual(want?.shape);
  const [made, wanted] = [[...(got?.data ?? [])], [...(want?.data ?? [])]];
  for (const [i, number] of wanted.entries())
    expect(Math.abs((made[i] ?? NaN) - number), `${i}`).toBeLessThanOrEqual(2e-6 * Math.max(1, Math.abs(number)));
}

describe.skipIf(oracleMissing())(`control flow and states in the simulator ${oracleMissing() ?? ""}`, () => {
  const PAIRS: readonly (readonly [MilBranch, MilBranch])[] = [
    [
      ["exp", {}],
      ["tanh", {}],
    ],
    [
      ["softmax", { axis: -1 }],
      ["clip", { alpha: tensor("f32", [], [-0.5]), beta: tensor("f32", [], [0.25]) }],
    ],
    [
      ["reduce_sum", { axes: tensor("i32", [1], [0]), keep_dims: true }],
      ["reduce_max", { axes: tensor("i32", [1], [0]), keep_dims: true }],
    ],
  ];
  const literal = (value: unknown): unknown =>
    typeof value === "object" && value !== null && "data" in value
      ? (({ shape, data }: OracleTensor) => (shape.length === 0 ? data[0] : Array.from(data as Float64Array)))(
          value as OracleTensor,
        )
      : value;

  for (const pair of PAIRS)
    it.each([true, false])(`${pair.map(([op]) => op).join(" or ")}, as coremltools chooses: %s`, async (flag) => {
      const operand = tensor("f32", SHAPE, floats(15));
      const made = await functionOf((b) => {
        const x = b.constant("fp32", SHAPE, operand.data as Float64Array);
        const branch = ([op, more]: MilBranch) => {
          const args = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, literal(value)]));
          return () => b.op(op as BuildableOp, { x, ...args });
        };
        const pred = b.constant("bool", [], [Number(flag)]);
        b.output("y", choose(b, pred, [branch(pair[0]), branch(pair[1])])[0]!);
      }).predict({});
      const [want] = await milCond(flag, operand, pair);
      if (want === undefined || want.value === null || typeof want.value === "string") throw new Error("no evaluation");
      expect(made["y"]?.dtype).toBe(want.dtype);
      expectClose(made["y"], want.value);
    });

  it.each([-1, 0.5])("a choice that is made at run time, as JAX makes it: %s", async (limit) => {
    const x = tensor("f32", SHAPE, floats(15));
    const chosen = functionOf((b) => {
      const [given, flagged] = [b.input("x", FLOAT), b.input("limit", tensorType("fp32", [1]))];
      const mean = b.op("reduce_mean", { x: given, axes: [0, 1], keep_dims: false });
      const pred = b.op("greater", { x: mean, y: b.op("squeeze", { x: flagged, axes: [0] }) });
      const branches = [() => b.op("sin", { x: given }), () => b.op("add", { x: given, y: 3 })] as const;
      b.output("y", choose(b, pred, branches)[0]!);
    });
    const made = await chosen.predict({
      x: packageTensor("fp32", SHAPE, x.data as Float64Array),
      limit: packageTensor("fp32", [1], [limit]),
    });
    const [want] = await jaxEval("lax.cond(jnp.mean(x) > limit, jnp.sin, lambda v: v + 3, x)", { x, limit });
    expectClose(made["y"], want);
  });

  const loop = functionOf((b) => {
    const types: readonly MilTensorType[] = [COUNT, FLOAT];
    const [turns, given] = [b.input("turns", tensorType("int32", [1])), b.input("x", FLOAT)];
    const limit = b.op("squeeze", { x: turns, axes: [0] });
    const inputs = types.map((type, i) => ({ wish: `carried_${i}`, type }));
    const test = b.block(inputs, ([i]) => [b.op("less", { x: i!, y: limit })]);
    // What a turn gives depends on the turn, and a choice stands inside.
    const body: BuiltBlock = b.block(inputs, ([i, x]) => {
      const odd = b.op("equal", { x: b.op("mod", { x: i!, y: 2 }), y: 1 });
      const half = () => b.op("mul", { x: x!, y: 0.5 });
      const shifted = () => b.op("add", { x: b.op("sin", { x: x! }), y: b.op("cast", { x: i!, dtype: "fp32" }) });
      return [b.op("add", { x: i!, y: 1 }), choose(b, odd, [half, shifted])[0]!];
    });
    const start = [b.constant("int32", [], [0]), given];
    const [count, last] = b.nested("while_loop", [["loop_vars", start]], [test, body], types);
    b.output("count", b.op("expand_dims", { x: count!, axes: [0] }));
    b.output("y", last!);
  });

  it.each([0, 1, 2, 9])("a loop of %i turns, as JAX turns it", async (turns) => {
    const x = tensor("f32", SHAPE, floats(15));
    const made: Made = await loop.predict({
      turns: packageTensor("int32", [1], [turns]),
      x: packageTensor("fp32", SHAPE, x.data as Float64Array),
    });
    const expression = `
def turn(carried):
    i, v = carried
    return i + 1, lax.cond(i % 2 == 1, lambda: v * 0.5, lambda: jnp.sin(v) + i)
lax.while_loop(lambda carried: carried[0] < turns, turn, (jnp.int64(0), jnp.asarray(x, jnp.float64)))`;
    const [count, last] = await jaxEval(expression, { turns, x });
    expect([...(made["count"]?.data ?? [])]).toEqual([...(count?.data ?? [])]);
    expectClose(made["y"], last);
  });

  const [rows, width] = [4, 6];
  const keep = functionOf((b) => {
    const state = b.input("cache", { kind: "state", dtype: "fp16", shape: [rows, width] });
    const [row, at] = [b.input("row", tensorType("fp16", [1, width])), b.input("at", tensorType("int32", [1]))];
    const before = b.op("read_state", { input: state });
    const begin = b.op("concat", { values: [at, b.constant("int32", [1], [0])], axis: 0, interleave: false });
    const end = b.op("add", { x: begin, y: b.constant("int32", [2], [1, width]) });
    const update = b.op("add", { x: row, y: b.op("reduce_max", { x: before, axes: [0], keep_dims: true }) });
    b.writeState(state, b.op("slice_update", { x: before, update, begin, end }));
    b.output("before", before);
    b.output("after", b.op("read_state", { input: state }));
  });

  it("a state keeps what was written: reads before and after, steps, copies, and a new one from zeros", async () => {
    const steps = [2, 0, 2, 3].map((at) => ({ at, row: floats(width) }));
    const predict = ({ at, row }: (typeof steps)[number], state: SimState): Promise<Made> =>
      keep.predict({ row: packageTensor("fp16", [1, width], row), at: packageTensor("int32", [1], [at]) }, { state });
    const expression = `
cache, out = np.zeros((${rows}, ${width}), np.float16), []
for i in order:
    out.append(cache.copy())
    cache[at[i]] = rows[i] + cache.max(0)
    out.append(cache.copy())
np.stack(out)`;
    const inputs = {
      at: tensor(
        "i32",
        [4],
        steps.map(({ at }) => at),
      ),
      rows: tensor(
        "f16",
        [4, width],
        steps.flatMap(({ row }) => [...row]),
      ),
    };
    const follow = async (order: readonly number[], made: readonly Made[]): Promise<void> => {
      const [want] = await numpyEval(expression, { ...inputs, order: tensor("i32", [order.length], order) });
      expect(made.flatMap((one) => [...(one["before"]?.data ?? []), ...(one["after"]?.data ?? [])])).toEqual([
        ...(want?.data ?? []),
      ]);
    };
    const state = new SimState();
    const made = [await predict(steps[0]!, state), await predict(steps[1]!, state)];
    const copy = state.copy();
    await follow([0, 1, 2], [...made, await predict(steps[2]!, state)]);
    // The copy has not seen what came after it, and the first has not seen what the copy does.
    await follow([0, 1, 3, 2], [...made, await predict(steps[3]!, copy), await predict(steps[2]!, copy)]);
    await follow([3], [await predict(steps[3]!, new SimState())]);
  });

  it("is all that can be emitted without a kernel", () => {
    const bare = (ops: Iterable<string>): string[] => [...ops].filter((op) => !SIMULATED_OPS.includes(op)).sort();
    expect(bare(met)).toEqual(bare(BUILT_OPS));
  });
});
