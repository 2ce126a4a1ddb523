import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { dtypeAmong, plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { filled } from "../families/constants.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, boundShape } from "../families/host.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";

export interface TopkAttrs {
  readonly k: number;
  /** Any of equals may come; the CPU engine takes those that its sort leaves, as ggml does. */
  readonly ties?: "any";
}

/** NaN before every number; equal infinities have no difference. */
export function largestFirst(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
  return a === b ? 0 : a > b ? -1 : 1;
}

export const topk: Op<"topk", TopkAttrs, 1, "many"> = defineOp({
  name: "topk",
  summary:
    "The k largest elements of the last axis, largest first, and their positions; the first of equals, or with `ties` any of them, NaN before all.",
  arity: 1,
  operands: ["x"],
  outputs: "many",
  results: ["values", "positions"],
  attributes: { k: attr.int(1), ties: attr.optional(attr.oneOf(["any"])) },
  infer: ([x], { k }) => {
    const dtype = dtypeAmong("numbers", x.dtype, "topk");
    const size = x.shape.at(-1);
    if (size === undefined || (typeof size === "number" && k > size))
      throw new WorkbenchError("IR_SHAPE", `[topk] k: got ${k} of ${formatType(x)}, expected at most the last size`);
    const shape = [...x.shape.slice(0, -1), k];
    return [tensor(dtype, shape), tensor("i32", shape)];
  },
  reference: ([x], { k }, [type]): readonly HostTensor[] => {
    const shape = boundShape(type, "topk");
    const size = x.shape.at(-1) ?? 1;
    const [top, where]: [number[], number[]] = [[], []];
    for (let row = 0; row < x.data.length; row += size) {
      const order = Array.from({ length: size }, (_, i) => i);
      order.sort((i, j) => largestFirst(at(x.data, row + i), at(x.data, row + j)) || i - j);
      for (const i of order.slice(0, k)) {
        top.push(at(x.data, row + i));
        where.push(i);
      }
    }
    return [hostTensor(x.dtype, shape, top), hostTensor("i32", shape, where)];
  },
  oracle: { jax: 'tuple(jax.lax.top_k(x0, a["k"]))' },
  // Σ over k of ct where the position is the one that was picked.
  gradient: {
    kind: "vjp",
    rule: ({ g, inputs: [x], outputs: [, indices], cotangents: [ct], attrs: { k } }) => {
      if (ct === undefined || indices === undefined) return [undefined];
      const { dtype, shape } = g.typeOf(x);
      const size = shape.at(-1) ?? 1;
      const column = [...shape.slice(0, -1), k, 1];
      const places = g.iota([], { shape: [size], axis: 0 });
      const picked = g.compare([g.reshape([indices], { shape: column }), places], { op: "eq" });
      const zero = filled(g, plainDType(dtype, "topk"), [], 0);
      const spread = g.where([picked, g.reshape([ct], { shape: column }), zero]);
      return [g.reduce([spread], { kind: "sum", axes: [shape.length - 1] })];
    },
  },
  batching: { kind: "rule", rule: ({ g, inputs, attrs }) => g.topk(inputs, attrs) },
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("topk", {
      takes: NUMBERS,
      params: ({ k, ties }) => ({ k, ...(ties === "any" && { anyOfEquals: true }) }),
    }),
    coreml: milNative((e, [x], { k }) => e.ops("topk", { x, k, axis: -1, ascending: false }, 2)),
    mlx: mlxCall("topk", { takes: "numbers", attrs: ({ k }) => ({ k }) }),
  },
  samples: withDoubles([
    sample("three of seven", [normal(1, [3, 7])], { k: 3 }),
    sample("all, symbolic rows", [normal(2, ["T", 5])], { k: 5 }, { bindings: { T: 2 } }),
    sample("one", [normal(3, [9])], { k: 1 }),
    sample("any of equals", [normal(7, [3, 40])], { k: 6, ties: "any" }),
    sample("any of equals, NaN", [values([1, NaN, 3, 2, 0])], { k: 3, ties: "any" }, { differentiable: false }),
    sample("ties: the first", [values([1, 4, 2, 4, 4])], { k: 2 }, { differentiable: false }),
    sample(
      "NaN is the largest",
      [values([1, NaN, Infinity, NaN, NaN, NaN, NaN, -Infinity, 5, -Infinity, -Infinity, 6], [3, 4])],
      { k: 3 },
      { differentiable: false },
    ),
    sample("no rows", [values([], [0, 3])], { k: 2 }),
    sample("whole numbers", [integers(4, [2, 9], -999, 999)], { k: 4 }),
    sample("bytes", [integers(5, [2, 9], 0, 255, "u8")], { k: 3 }),
    sample("long whole numbers", [integers(6, [9], -(2 ** 40), 2 ** 40, "i64")], { k: 3 }),
  ]),
});
