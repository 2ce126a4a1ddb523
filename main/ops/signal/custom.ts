import { attr } from "../../ir/attributes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { formatType, parseType } from "../../ir/type.ts";
import type { AnyNumber, Op } from "../defineOp.ts";
import { ANY_NUMBER, defineOp, unsupported } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { normal, sample } from "../families/samples.ts";
import { SOFT_THRESHOLD, customKernel } from "./customKernels.ts";

export interface CustomAttrs {
  /** Of the registered host function. */
  readonly name: string;
  /** Output types, spelled `f32[T,4]`. */
  readonly outputs: readonly string[];
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
  gradient: {
    kind: "vjp",
    rule: ({ g, inputs, outputs, cotangents, attrs: { name } }) => {
      const { vjp } = customKernel(name);
      if (!vjp) throw new WorkbenchError("UNSUPPORTED_OP", `[custom] "${name}" was registered without a gradient`);
      return vjp(g, inputs, outputs, cotangents);
    },
  },
  batching: eachItem("custom"),
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
