import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { expectPlain, expectTypes, regionInputs, regionOutputs } from "../../ir/regions.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, staticShape, tensor } from "../../ir/type.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { AnyNumber, Op, RegionRun, Sample, VmapContext } from "../defineOp.ts";
import { ANY_NUMBER, decomposed, defineOp } from "../defineOp.ts";
import { asBatched, shapeOf } from "../families/batching.ts";
import { scalarLike } from "../families/constants.ts";
import { regionAt } from "../families/control.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, scalarInput, uniform, weight, withDoubles } from "../families/samples.ts";
import { scanGradient } from "../families/turnGradients.ts";
import type { ScanAttrs } from "../families/turns.ts";
import { MOST_UNROLLED_TURNS, rowType, scanLists, scanParts } from "../families/turns.ts";
import type { OpBuilder, RegionMaker } from "../opBuilder.ts";

const sizeError = (what: string, got: string, expected: string): WorkbenchError =>
  new WorkbenchError("IR_ATTRIBUTE", `[scan] ${what}: got ${got}, expected ${expected}`);

function infer(
  inputs: readonly TensorType[],
  attrs: ScanAttrs,
  regions: Parameters<typeof regionAt>[0],
): readonly TensorType[] {
  const { carried, scanned, length } = attrs;
  if (carried + scanned > inputs.length)
    throw sizeError("carried and scanned", `${carried} + ${scanned}`, `at most ${inputs.length} operands together`);
  const { carry, fixed, rows } = scanLists(inputs, attrs);
  expectPlain("scan", "a carried operand", carry);
  expectPlain("scan", "a scanned operand", rows);
  for (const type of rows)
    if (type.shape.length === 0 || type.shape[0] !== length)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[scan] a scanned operand: got ${formatType(type)}, expected ${length} rows, one for each turn`,
      );
  const body = regionAt(regions, 0);
  if (!("nodes" in body)) throw new WorkbenchError("BUG_INVARIANT", "[scan] the body is no graph");
  expectTypes("scan", "inputs of body", regionInputs(body), [...carry, ...fixed, ...rows.map(rowType)]);
  const given = regionOutputs(body);
  expectTypes("scan", "outputs of body, the carried ones", given.slice(0, carried), carry);
  if (given.length === 0)
    throw new WorkbenchError("IR_TYPE", "[scan] outputs of body: got nothing, expected at least one");
  expectPlain("scan", "an output of body", given);
  const stacked = given.slice(carried).map(({ dtype, shape }) => tensor(plainDType(dtype, "scan"), [length, ...shape]));
  return [...carry, ...stacked];
}

function rowOf({ dtype, shape: [length = 0, ...shape], data }: HostTensor, place: number): HostTensor {
  const size = data.length / length;
  return hostTensor(dtype, shape, data.slice(place * size, (place + 1) * size));
}

function reference(
  inputs: readonly HostTensor[],
  attrs: ScanAttrs,
  types: readonly TensorType[],
  regions: readonly RegionRun[] = [],
): readonly HostTensor[] {
  const body = regionAt(regions, 0);
  const { carried, reverse } = attrs;
  const length = Number(attrs.length);
  const { carry, fixed, rows } = scanLists(inputs, attrs);
  let now = carry;
  const made = types.slice(carried).map(() => new Array<Float64Array>(length));
  for (let turn = 0; turn < length; turn++) {
    const place = reverse ? length - 1 - turn : turn;
    const results = body([...now, ...fixed, ...rows.map((x) => rowOf(x, place))]);
    now = results.slice(0, carried);
    made.forEach((items, i) => (items[place] = results[carried + i]?.data ?? new Float64Array(0)));
  }
  const stacked = types.slice(carried).map((type, i) => {
    const data = Float64Array.from((made[i] ?? []).flatMap((row) => [...row]));
    return hostTensor(plainDType(type.dtype, "scan"), staticShape(type, "scan"), data);
  });
  return [...now, ...stacked];
}

/** Rows stay in front, so that the batch axis of what is scanned comes behind them. */
function batchRule(context: VmapContext<ScanAttrs, AnyNumber>): readonly Value[] {
  const { g, inputs, batched, size, attrs, node, batchOf } = context;
  const rowsAt = inputs.length - attrs.scanned;
  const operands = inputs.map((x, i) => {
    if (i < attrs.carried) return asBatched(g, x, batched[i] === true, size);
    return i >= rowsAt && batched[i] === true ? swapped(g, x) : x;
  });
  const flags = batched.map((flag, i) => i < attrs.carried || flag);
  const results = g.scan(operands, attrs, "batch", [batchOf(regionAt(node.regions, 0), flags)]);
  return results.map((x, i) => (i < attrs.carried ? x : swapped(g, x)));
}

const swapped = (g: OpBuilder, x: Value): Value =>
  g.transpose([x], { perm: shapeOf(g, x).map((_, axis) => (axis < 2 ? 1 - axis : axis)) });

/** JAX's own scan over functions written by hand, by the title of the sample: the carried values, the fixed ones, a row of each. */
const ORACLE = lines(
  `
turns = {
    "a carried value, a fixed one, rows": lambda c, w, x: ((jnp.tanh(c[0] * w[0] + x[0]),), (c[0] * x[0],)),
    "backwards, the rows of two": lambda c, w, x: ((c[1], 0.5 * c[0] + x[0] * x[1]), (c[0] - x[1], c[1].sum())),
    "no turn": lambda c, w, x: ((c[0] + x[0],), (c[0],)),
    "one turn": lambda c, w, x: ((c[0] * x[0],), (jnp.sin(c[0]),)),
    "symbolic, backwards": lambda c, w, x: ((jnp.tanh(c[0] + x[0]),), (c[0],)),
    "nothing scanned, whole numbers": lambda c, w, x: ((c[0] + 1, jnp.sin(c[1] + w[0])), (c[0] * 2, c[1] > 0)),
    "nothing carried": lambda c, w, x: ((), (x[0] @ w[0],)),
    "checkpoints, more turns than stand one after the other": lambda c, w, x: ((jnp.tanh(c[0] * w[0] + x[0]),), (c[0] * x[0],)),
    "a packed weight that stays": lambda c, w, x: ((jnp.tanh(c[0] @ w[0].T + x[0]),), ()),
    "one inside the other": lambda c, w, x: (lambda d: ((d[0],), (d[1].sum(),)))(jax.lax.scan(lambda e, y: (jnp.tanh(e + y), e * y), c[0], x[0])),
}
`.trim(),
  "turn = turns[a['title'].removesuffix(', float64')]",
  "k, m, length = a['carried'], len(xs) - a['scanned'], int(s[0]) if a['carried'] == 0 else len(xs[-1]) if a['scanned'] else a['length']",
  "carry, made = jax.lax.scan(lambda c, x: turn(c, xs[k:m], x), tuple(xs[:k]), tuple(xs[m:]), length=length, reverse=a['reverse'])",
  "(*carry, *made)",
);

const CORE_ML = `Core ML has no operator with a memory: up to ${MOST_UNROLLED_TURNS} turns stand one after the other, more are a loop`;

type Turn = (g: OpBuilder, ...values: Value[]) => readonly Value[];
type Sizes = Omit<ScanAttrs, "reverse"> & Partial<ScanAttrs>;

/** A sample whose body is written over the values of one turn. */
const turns = (
  title: string,
  inputs: Sample<ScanAttrs>["inputs"],
  attrs: Sizes,
  body: Turn,
  more: Partial<Sample<ScanAttrs>> = {},
): Sample<ScanAttrs> =>
  sample(
    title,
    inputs,
    { reverse: false, ...attrs },
    {
      ...more,
      regions: (region: RegionMaker, types) => {
        const { carry, fixed, rows } = scanLists(types, attrs);
        return [region("body", [...carry, ...fixed, ...rows.map(rowType)], (g, ...values) => body(g, ...values))];
      },
    },
  );

const ONE_FIXED: Turn = (g, c, w, x) => [g.tanh([g.add([g.mul([c, w]), x])]), g.mul([c, x])];

export const scan: Op<"scan", ScanAttrs, AnyNumber, "many"> = defineOp({
  name: "scan",
  summary:
    "Runs `body` once for each row of the last operands, the scanned ones. Its inputs are the first operands, the carried ones, which each turn replaces, those between, which stay, and a row of each scanned one; it gives what is carried next, and rows. Gives what is carried after the last turn, and the rows of all turns one above the other.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "many",
  attributes: {
    carried: attr.int(0),
    scanned: attr.int(0),
    length: attr.dim(),
    reverse: attr.bool(),
    checkpoints: attr.optional(attr.int(1)),
  },
  regionNames: ["body"],
  infer,
  reference,
  oracle: { jax: ORACLE },
  gradient: { kind: "vjp", rule: scanGradient },
  batching: { kind: "rule", rule: batchRule },
  traits: ["pure"],
  backends: {
    cpu: { kind: "native", emit: (e, inputs, attrs, node) => e.scan(inputs, node.regions, attrs, node.outputs) },
    coreml: decomposed(scanParts, CORE_ML),
    mlx: { kind: "native", emit: (e, inputs, attrs, node) => e.scan(inputs, node.regions, attrs, node.outputs) },
    webgpu: decomposed(scanParts),
  },
  samples: withDoubles<ScanAttrs>([
    turns(
      "a carried value, a fixed one, rows",
      [normal(1, [3]), normal(2, [3]), normal(3, [5, 3])],
      { carried: 1, scanned: 1, length: 5 },
      ONE_FIXED,
    ),
    turns(
      "backwards, the rows of two",
      [normal(4, [3]), normal(5, [3]), normal(6, [4, 3]), normal(7, [4, 3])],
      { carried: 2, scanned: 2, length: 4, reverse: true },
      (g, a, b, x, y) => [
        b,
        g.add([g.mul([a, scalarLike(g, a, 0.5)]), g.mul([x, y])]),
        g.sub([a, y]),
        g.reduce([b], { kind: "sum", axes: [0] }),
      ],
    ),
    turns("no turn", [normal(8, [3]), normal(9, [0, 3])], { carried: 1, scanned: 1, length: 0 }, (g, c, x) => [
      g.add([c, x]),
      c,
    ]),
    turns("one turn", [normal(10, [2, 3]), normal(11, [1, 3])], { carried: 1, scanned: 1, length: 1 }, (g, c, x) => [
      g.mul([c, x]),
      g.sin([c]),
    ]),
    turns(
      "symbolic, backwards",
      [normal(12, [3]), normal(13, ["T", 3])],
      { carried: 1, scanned: 1, length: "T", reverse: true },
      (g, c, x) => [g.tanh([g.add([c, x])]), c],
      { bindings: { T: 5 } },
    ),
    turns(
      "nothing scanned, whole numbers",
      [scalarInput(3), uniform(14, [3], -1, 1), uniform(15, [3], 0.1, 1)],
      { carried: 2, scanned: 0, length: 11 },
      (g, n, x, w) => [
        g.add([n, scalarLike(g, n, 1)]),
        g.sin([g.add([x, w])]),
        g.mul([n, scalarLike(g, n, 2)]),
        g.compare([x, scalarLike(g, x, 0)], { op: "gt" }),
      ],
    ),
    turns(
      "nothing carried",
      [normal(16, [3, 2]), normal(17, [4, 5, 3])],
      { carried: 0, scanned: 1, length: 4 },
      (g, w, x) => [g.matmul([x, w])],
    ),
    turns(
      "checkpoints, more turns than stand one after the other",
      [normal(18, [2]), normal(19, [2]), normal(20, [11, 2])],
      { carried: 1, scanned: 1, length: 11, checkpoints: 4 },
      ONE_FIXED,
    ),
    turns(
      "a packed weight that stays",
      [normal(21, [2, 64]), weight(22, [64, 64], "q8_0"), normal(23, [3, 64])],
      { carried: 1, scanned: 1, length: 3 },
      (g, c, w, x) => [g.tanh([g.add([g.linear([c, w]), x])])],
    ),
    turns(
      "one inside the other",
      [normal(24, [2]), normal(25, [3, 2, 2])],
      { carried: 1, scanned: 1, length: 3 },
      (g, c, x) => {
        const own = [g.typeOf(c), rowType(g.typeOf(x))];
        const inner = g.region("inner", own, (h, d, y) => (d && y ? [h.tanh([h.add([d, y])]), h.mul([d, y])] : []));
        const [after, made] = g.scan([c, x], { carried: 1, scanned: 1, length: 2, reverse: false }, "inner", [inner]);
        return after && made ? [after, g.reduce([made], { kind: "sum", axes: [0, 1] })] : [];
      },
    ),
  ]),
});
