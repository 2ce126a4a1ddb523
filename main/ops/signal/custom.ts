import { attr } from "../../ir/attributes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { inlineGraph } from "../../ir/nested.ts";
import { expectTypes } from "../../ir/regions.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, parseType } from "../../ir/type.ts";
import type { AnyNumber, JvpContext, Op, VjpContext, VmapContext } from "../defineOp.ts";
import { ANY_NUMBER, defineOp, unsupported } from "../defineOp.ts";
import { runEach } from "../families/batching.ts";
import { jvpRegion, orZeros, spread, transposed, vjpRegion } from "../families/customFn.ts";
import { normal, sample } from "../families/samples.ts";
import type { CustomKernel } from "./customKernels.ts";
import { SOFT_THRESHOLD, customKernel } from "./customKernels.ts";

export interface CustomAttrs {
  /** Of the registered host function. */
  readonly name: string;
  /** Output types, spelled `f32[T,4]`. */
  readonly outputs: readonly string[];
}

/** The function's own rules, as sub-graphs, so that what they give is checked. */
function gradientRule(context: VjpContext<CustomAttrs, AnyNumber>): readonly (Value | undefined)[] {
  const { g, inputs, outputs, cotangents, attrs, node } = context;
  const { vjp, jvp } = customKernel(attrs.name);
  if (vjp !== undefined) {
    const who = `custom "${attrs.name}"`;
    const rule = vjpRegion(g, who, node.inputs, node.outputs, (own) =>
      vjp(own.g, own.inputs, own.outputs, own.cotangents),
    );
    return spread(node.inputs, inlineGraph(g.graph, rule, [...inputs, ...outputs, ...orZeros(g, outputs, cotangents)]));
  }
  const forwards = jvp && forwardRule(context, jvp);
  if (forwards !== undefined) return transposed(context, forwards);
  throw new WorkbenchError("UNSUPPORTED_OP", `[custom] "${attrs.name}" was registered without a gradient`, {
    hint: "Give registerCustomKernel a vjp or a jvp beside run.",
  });
}

const forwardRule = (
  { g, attrs, node }: Pick<VjpContext<CustomAttrs, AnyNumber>, "g" | "attrs" | "node">,
  jvp: NonNullable<CustomKernel["jvp"]>,
): Graph =>
  jvpRegion(g, `custom "${attrs.name}"`, node.inputs, node.outputs, (own) =>
    jvp(own.g, own.inputs, own.outputs, own.tangents),
  );

function tangentRule(context: JvpContext<CustomAttrs, AnyNumber>): readonly (Value | undefined)[] | undefined {
  const { g, inputs, outputs, tangents, attrs, node } = context;
  const { jvp } = customKernel(attrs.name);
  if (jvp === undefined) return undefined;
  const operands = [...inputs, ...outputs, ...orZeros(g, inputs, tangents)];
  return spread(node.outputs, inlineGraph(g.graph, forwardRule(context, jvp), operands));
}

function batchRule(context: VmapContext<CustomAttrs, AnyNumber>): readonly Value[] {
  const { g, inputs, batched, size, attrs, node } = context;
  const { vmap } = customKernel(attrs.name);
  if (vmap === undefined) return runEach("custom", context);
  const made = vmap(g, inputs, batched, size);
  const expected = node.outputs.map(({ dtype, shape }): TensorType => ({ dtype, shape: [size, ...shape] }));
  const types = made.map((x) => g.typeOf(x));
  expectTypes(`custom "${attrs.name}"`, "outputs of vmap", types, expected);
  return made;
}

export const custom: Op<"custom", CustomAttrs, AnyNumber, "many"> = defineOp({
  name: "custom",
  summary: "A function of the host program, by name; its output types are attributes.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "many",
  attributes: { name: attr.string(), outputs: attr.types() },
  infer: (_inputs, { outputs }) => outputs.map(parseType),
  reference: (inputs, { name }, types) => {
    const results = customKernel(name).run(inputs, types);
    const fits =
      results.length === types.length &&
      results.every((r, i) => types[i] !== undefined && formatType(r) === formatType(types[i]));
    if (!fits)
      throw new WorkbenchError(
        "RUN_FAILED",
        `[custom] "${name}" gave ${results.map(formatType).join(", ")}, its node says ${types.map(formatType).join(", ")}`,
      );
    return results;
  },
  oracle: { numpy: "np.where(np.abs(x0) > 0.1, x0 - np.copysign(0.1, x0), 0)" },
  gradient: { kind: "vjp", rule: gradientRule },
  tangent: tangentRule,
  batching: { kind: "rule", rule: batchRule },
  traits: ["host"],
  backends: {
    cpu: unsupported("a function of the host program: the native plan never calls back, it runs as a host segment"),
    coreml: unsupported("a function of the host program: it runs as a host segment between Core ML models"),
    mlx: unsupported("a function of the host program: MLX's graph never calls back, it runs as a host segment"),
  },
  samples: [
    sample("odd sizes", [normal(1, [3, 5])], { name: SOFT_THRESHOLD, outputs: ["f32[3,5]"] }),
    sample("symbolic", [normal(2, ["T", 2])], { name: SOFT_THRESHOLD, outputs: ["f32[T,2]"] }, { bindings: { T: 3 } }),
    sample("scalar", [normal(3, [])], { name: SOFT_THRESHOLD, outputs: ["f32[]"] }),
  ],
});
