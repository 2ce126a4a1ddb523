import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import type { LinearBlock, LinearBlockAttrs } from "../../backends/cpu/linearBlockOperands.ts";
import { closeLinearBlock, linearBlockOperands, openLinearBlock } from "../../backends/cpu/linearBlockOperands.ts";
import { FLOATS, takesTypes, WEIGHTS } from "../../backends/cpu/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameType } from "../../ir/type.ts";
import type { AnyNumber, NodeInfo, Op } from "../defineOp.ts";
import { ANY_NUMBER, decomposed, defineOp } from "../defineOp.ts";
import { referenceBinary } from "../families/binary.ts";
import { ownOfCpu } from "../families/fused.ts";
import { inferLinear, multiplyTransposed } from "../families/linear.ts";
import { inferNorm } from "../families/norm.ts";
import { normal, normals, sample, weight, withDoubles } from "../families/samples.ts";
import { rms_norm } from "../norm/rms_norm.ts";
import { silu } from "../unary/silu.ts";
import { lines } from "../families/oracle.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** What a block is made of, over values, types or tensors. */
interface Parts<T> {
  readonly norm: (x: T, gamma: T, eps: number) => T;
  readonly product: (x: T, weight: T, bias: T | undefined) => T;
  /** silu(gate) · up */
  readonly gate: (gate: T, up: T) => T;
  readonly sum: (product: T, residual: T) => T;
}

function compute<T>({ x, norm, residual, gated, products }: LinearBlock<T>, parts: Parts<T>): readonly T[] {
  const rows = norm ? parts.norm(x, norm.gamma, norm.eps) : x;
  const made = products.map(({ weight, bias }) => parts.product(rows, weight, bias));
  const results = gated
    ? made.flatMap((up, i) => (i % 2 === 1 ? made.slice(i - 1, i).map((gate) => parts.gate(gate, up)) : []))
    : made;
  return residual === undefined ? results : results.map((result) => parts.sum(result, residual));
}

/** In the order of the operands; of several products with their number. */
function operandNames({ eps, residual, gated, biases }: LinearBlockAttrs): readonly string[] {
  const products = biases.map((bias, i) => {
    const [which, count] = gated ? [i % 2 === 0 ? "gate " : "up ", biases.length / 2] : ["", biases.length];
    const number = count === 1 ? "" : ` ${(gated ? Math.floor(i / 2) : i) + 1}`;
    return { weight: `${which}weight${number}`, bias: bias === 1 ? `${which}bias${number}` : undefined };
  });
  return closeLinearBlock({
    x: "x",
    norm: eps === undefined ? undefined : { gamma: "gamma", eps },
    residual: residual ? "residual" : undefined,
    gated,
    products,
  }).operands;
}

const same = (what: string, a: TensorType, b: TensorType): TensorType => {
  if (sameType(a, b)) return a;
  throw new WorkbenchError("IR_SHAPE", `[linear_block] ${what}: got ${formatType(b)}, expected ${formatType(a)}`);
};

const typed: Parts<TensorType> = {
  norm: (x, gamma) => inferNorm("linear_block", [x, gamma]),
  product: (x, w, bias) => inferLinear("linear_block", x, w, bias),
  gate: (gate, up) => same("the two halves of a gate", gate, up),
  sum: (product, residual) => same("residual", product, residual),
};

const [plus, times] = [referenceBinary((a, b) => a + b), referenceBinary((a, b) => a * b)];
const calculated: Parts<HostTensor> = {
  norm: (x, gamma, eps) => rms_norm.reference([x, gamma], { eps }, []),
  product: multiplyTransposed,
  gate: (gate, up) => times([silu.reference([gate], {}, []), up]),
  sum: (product, residual) => plus([product, residual]),
};

const built = (g: OpBuilder): Parts<Value> => ({
  norm: (x, gamma, eps) => g.rms_norm([x, gamma], { eps }),
  product: (x, w, bias) => g.linear(bias === undefined ? [x, w] : [x, w, bias]),
  gate: (gate, up) => g.mul([g.silu([gate]), up]),
  sum: (product, residual) => g.add([product, residual]),
});

const decompose = (g: OpBuilder, inputs: readonly Value[], attrs: LinearBlockAttrs): readonly Value[] =>
  compute(openLinearBlock(inputs, { ...attrs }), built(g));

/** Operands as the kernel wants them, with holes where one is missing. */
function emit(
  e: CpuEmitter,
  inputs: readonly CpuValue[],
  attrs: LinearBlockAttrs,
  { outputs }: NodeInfo<LinearBlockAttrs>,
): readonly CpuValue[] {
  const { x, norm, residual, gated, products } = openLinearBlock(inputs, { ...attrs });
  const matrices = products.flatMap(({ weight, bias }) => [weight, bias]);
  return e.instr("linear_block", [x, norm?.gamma, residual, ...matrices], outputs, {
    normalise: norm !== undefined,
    eps: norm?.eps ?? 0,
    gated,
    activation: 0,
  });
}

/** All but the weights are floats of one type: inference saw to it. */
function takes({ inputs, attrs }: NodeInfo<LinearBlockAttrs>): true | string {
  const { x, products } = openLinearBlock(inputs, { ...attrs });
  const weights = products.map(({ weight }) => weight);
  return takesTypes("linear_block", [FLOATS, WEIGHTS], { inputs: [x, ...weights], outputs: [], attrs, regions: [] });
}

function check(inputs: readonly TensorType[], attrs: LinearBlockAttrs): void {
  const { residual, gated, biases } = attrs;
  const results = gated ? biases.length / 2 : biases.length;
  const fault = (what: string, got: number | string, expected: number | string): WorkbenchError =>
    new WorkbenchError("IR_STRUCTURE", `[linear_block] ${what}: got ${got}, expected ${expected}`);
  if (results < 1 || !Number.isInteger(results))
    throw fault("products", biases.length, gated ? "pairs of gate and up" : "at least one");
  if (residual && results > 1) throw fault("results with a residual", results, 1);
  if (biases.some((bias) => bias !== 0 && bias !== 1)) throw fault("biases", biases.join(), "0 or 1 for each product");
  const wanted = linearBlockOperands(attrs);
  if (inputs.length !== wanted) throw fault("operands", inputs.length, wanted);
}

export const linear_block: Op<"linear_block", LinearBlockAttrs, AnyNumber, "many"> = defineOp({
  name: "linear_block",
  summary: "Products of the same rows, with a norm before them, gates between them, or a residual after them.",
  arity: ANY_NUMBER,
  operands: [],
  operandsBy: operandNames,
  outputs: "many",
  attributes: { eps: attr.optional(attr.float()), residual: attr.bool(), gated: attr.bool(), biases: attr.ints() },
  infer: (inputs, attrs) => {
    check(inputs, attrs);
    return compute(openLinearBlock(inputs, { ...attrs }), typed);
  },
  reference: (inputs, attrs) => compute(openLinearBlock(inputs, { ...attrs }), calculated),
  oracle: {
    numpy: lines(
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "rest = iter(xs[1:])",
      "x = rms(x0, a['eps']) * next(rest) if 'eps' in a else x0",
      "r = next(rest) if a['residual'] else 0",
      "ys = [np.einsum('...i,oi->...o', x, next(rest)) + (next(rest) if b else 0) for b in a['biases']]",
      'zs = [g * scipy.special.expit(g) * u for g, u in zip(ys[::2], ys[1::2])] if a["gated"] else ys',
      "tuple(z + r for z in zs)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused", "sensitive"],
  backends: { cpu: { kind: "native", emit, when: takes }, ...ownOfCpu },
  samples: withDoubles([
    sample("norm and three products, odd sizes", normals(1, [3, 5], [5], [6, 5], [3, 5], [7, 5]), {
      eps: 1e-5,
      residual: false,
      gated: false,
      biases: [0, 0, 0],
    }),
    sample(
      "biases, symbolic",
      normals(6, ["T", 4], [4, 4], [4], [2, 4], [3, 4], [3]),
      { residual: false, gated: false, biases: [1, 0, 1] },
      { bindings: { T: 3 } },
    ),
    sample("norm and gate, a bias on one side", normals(12, [2, 6], [6], [5, 6], [5], [5, 6]), {
      eps: 1e-3,
      residual: false,
      gated: true,
      biases: [1, 0],
    }),
    sample("residual, more leading axes", normals(17, [2, 3, 4], [2, 3, 5], [5, 4], [5]), {
      residual: true,
      gated: false,
      biases: [1],
    }),
    sample("rows without numbers, and a residual", normals(19, [3, 0], [3, 4], [4, 0]), {
      residual: true,
      gated: false,
      biases: [0],
    }),
    sample(
      "packed weights of two types",
      [normal(21, [2, 256]), weight(22, [4, 256], "q4_k"), weight(23, [2, 256], "q4_k"), weight(24, [2, 256], "q6_k")],
      { residual: false, gated: false, biases: [0, 0, 0] },
    ),
    sample(
      "packed gate and residual, a vector",
      [normal(25, [64]), normal(26, [5]), weight(27, [5, 64], "q4_0"), weight(28, [5, 64], "q8_0")],
      { residual: true, gated: true, biases: [0, 0] },
    ),
  ]),
});
