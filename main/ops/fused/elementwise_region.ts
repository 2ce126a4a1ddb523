import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import type { RegionAttrs, StepMeaning } from "../../backends/cpu/regionSteps.ts";
import { kernelSteps, readSteps } from "../../backends/cpu/regionSteps.ts";
import { COMPARABLE, takesTypes } from "../../backends/cpu/rules.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, formatType, sameShape } from "../../ir/type.ts";
import type { AnyNumber, NodeInfo, Op } from "../defineOp.ts";
import { ANY_NUMBER, decomposed, defineOp } from "../defineOp.ts";
import { broadcastData, numbersOf } from "../families/host.ts";
import { integers, normal, normals, sample, uniform, values, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { STEP_OPS } from "../families/stepOps.ts";

/** All values, operands first: `step` makes what each step gives of those that it reads. */
function walk<T>(
  inputs: readonly T[],
  attrs: RegionAttrs,
  step: (meaning: StepMeaning, reads: readonly T[], index: number) => T,
): readonly T[] {
  const all = [...inputs];
  readSteps(attrs, inputs.length).forEach(({ reads, meaning }, i) => {
    const given = reads.map((at) => all[at]).filter((value) => value !== undefined);
    all.push(step(meaning, given, i));
  });
  return all;
}

const resultsOf = <T>(all: readonly T[], { results }: RegionAttrs): readonly T[] =>
  results.map((at) => all[at]).filter((value) => value !== undefined);

function specOf(op: string): NonNullable<ReturnType<typeof STEP_OPS.get>> {
  const spec = STEP_OPS.get(op);
  invariant(spec, `[elementwise_region] ${op} is no step`);
  return spec;
}

const typesOf = (inputs: readonly TensorType[], attrs: RegionAttrs): readonly TensorType[] =>
  walk(inputs, attrs, ({ op, attrs: own }, reads) => {
    const [type] = specOf(op).inferTypes(reads, own, []);
    invariant(type, `[elementwise_region] ${op} has a result`);
    return type;
  });

/** Everything is stretched to the shape of the results: no result may be smaller, and nothing larger. */
function infer(inputs: readonly TensorType[], attrs: RegionAttrs): readonly TensorType[] {
  const all = typesOf(inputs, attrs);
  const results = resultsOf(all, attrs);
  const [first] = results;
  invariant(first, "[elementwise_region] has a result");
  for (const type of [...results, ...all]) {
    const fits = results.includes(type)
      ? sameShape(type.shape, first.shape)
      : sameShape(broadcastShapes(type.shape, first.shape, "elementwise_region"), first.shape);
    if (!fits)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[elementwise_region] shape: got ${formatType(type)}, expected one that is stretched to ${formatType(first)}`,
      );
  }
  return results;
}

const reference = (
  inputs: readonly HostTensor[],
  attrs: RegionAttrs,
  outputs: readonly TensorType[],
): readonly HostTensor[] => {
  const types = typesOf(inputs, attrs);
  const all = walk(inputs, attrs, ({ op, attrs: own }, reads, i) => {
    const type = types[inputs.length + i];
    const [result] = specOf(op).reference(reads, own, type === undefined ? [] : [type], []);
    invariant(result, `[elementwise_region] ${op} has a result`);
    return result;
  });
  return resultsOf(all, attrs).map((result, i) => {
    const shape = numbersOf(outputs[i]?.shape ?? result.shape, "elementwise_region");
    return { ...result, shape, data: broadcastData(result, shape) };
  });
};

const parts = (g: OpBuilder, inputs: readonly Value[], attrs: RegionAttrs): readonly Value[] =>
  resultsOf(
    walk(inputs, attrs, ({ op, attrs: own }, reads) => {
      const [value] = g.graph.apply(op, reads, own);
      invariant(value, `[elementwise_region] ${op} has a result`);
      return value;
    }),
    attrs,
  );

function emit(
  e: CpuEmitter,
  inputs: readonly CpuValue[],
  attrs: RegionAttrs,
  { outputs }: NodeInfo<RegionAttrs>,
): readonly CpuValue[] {
  const types = typesOf(
    inputs.map(({ type }) => type),
    attrs,
  ).map(({ dtype }) => dtype);
  return e.instr("elementwise_region", inputs, outputs, kernelSteps(attrs, types, inputs.length));
}

/** The kernels of the first steps. */
const inShort = (steps: readonly string[]): string => {
  const kernels = steps.slice(0, 6).map((step) => step.split(" ")[0]);
  return kernels.join(", ") + (steps.length > kernels.length ? " …" : "");
};

export const elementwise_region: Op<"elementwise_region", RegionAttrs, AnyNumber, "many"> = defineOp({
  name: "elementwise_region",
  summary: "A chain of element-wise steps over operands that are stretched to its results: one walk through memory.",
  arity: ANY_NUMBER,
  operands: [],
  operandsBy: () => [],
  outputs: "many",
  attributes: { steps: attr.strings(), results: attr.ints() },
  infer,
  reference,
  oracle: {
    numpy: lines(
      "one = {'neg': np.negative, 'square': np.square, 'sqrt': np.sqrt, 'exp': np.exp, 'tanh': np.tanh}",
      "one.update({'silu': lambda x: x * scipy.special.expit(x), 'gelu': lambda x: x * scipy.special.ndtr(x)})",
      "one.update({'cast_f32': np.float64})",
      "two = {'add': np.add, 'sub': np.subtract, 'mul': np.multiply, 'div': np.divide, 'max': np.maximum, 'lt': np.less}",
      "kernels = {**one, **two, 'where': np.where}",
      "values = list(xs)",
      `for name, *reads in [step.split() for step in a["steps"]]:
    values.append(kernels[name](*[values[int(i)] for i in reads]))`,
      'tuple(values[i] for i in a["results"])',
    ),
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure", "fused"],
  backends: {
    cpu: {
      kind: "native",
      emit,
      when: (node) => takesTypes("elementwise_region", COMPARABLE, node),
      how: ({ attrs: { steps } }) => `its ${steps.length} steps in one walk: ${inShort(steps)}`,
    },
    coreml: decomposed(parts, "Core ML runs its steps as operators"),
    mlx: decomposed(parts, "MLX runs its steps as calls, which it joins itself where it compiles a trace"),
  },
  samples: withDoubles([
    sample("a product and what is added, odd sizes", normals(1, [3, 5], [3, 5], [3, 5]), {
      steps: ["mul 0 1", "add 3 2", "tanh 4"],
      results: [5],
    }),
    sample("a row, a column and a number are stretched", normals(4, [3, 5], [5], [3, 1], []), {
      steps: ["add 0 1", "mul 4 2", "sub 5 3", "silu 6"],
      results: [7],
    }),
    sample(
      "a step of Adam: three results, symbolic",
      [normal(8, ["T", 7]), normal(9, ["T", 7]), uniform(10, ["T", 7], 0, 1), values([0.9], []), values([0.1], [])],
      {
        steps: ["mul 1 3", "mul 0 4", "add 5 6", "square 0", "mul 2 3", "mul 8 4", "add 9 10", "sqrt 11", "div 7 12"],
        results: [7, 11, 13],
      },
      { bindings: { T: 3 } },
    ),
    sample(
      "a comparison chooses",
      normals(13, [2, 9], [2, 9]),
      { steps: ["lt 0 1", "neg 0", "where 2 1 3", "gelu 4"], results: [5, 2] },
      { differentiable: false },
    ),
    sample(
      "whole numbers, and a cast in the end",
      [integers(17, [2, 6], -9, 9), integers(18, [6], -9, 9)],
      { steps: ["mul 0 1", "max 2 0", "cast_f32 3", "exp 4"], results: [3, 5] },
      { differentiable: false },
    ),
    sample(
      "NaN, infinities, zeros",
      [values([NaN, Infinity, -Infinity, 0, -0, 1.5, -2], [7, 1]), values([1, -0, Infinity])],
      { steps: ["mul 0 1", "add 2 0", "max 3 1"], results: [4] },
      { differentiable: false },
    ),
    sample("an empty axis", [values([], [0, 3]), values([1, 2, 3])], { steps: ["mul 0 1", "exp 2"], results: [3] }),
  ]),
});
