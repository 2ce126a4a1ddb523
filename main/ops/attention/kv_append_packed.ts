import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { eachItem } from "../families/batching.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import type { AppendAttrs } from "./kv_append.ts";
import { appendNumpy, appendedRows } from "./kv_append.ts";
import type { CachePacking } from "../families/packedRows.ts";
import { CACHE_PACKINGS, PACKED_ON_CPU, packBlock, packedRowBytes } from "../families/packedRows.ts";
import { integers, normal, sample, scalarInput } from "../families/samples.ts";

export interface PackedAttrs {
  readonly packing: CachePacking;
}
export interface AppendPackedAttrs extends PackedAttrs, AppendAttrs {}

/** For the CPU's kernels. */
export const PACKING_CODE: Readonly<Record<CachePacking, number>> = { q8_0: 1, q4_0: 2 };

export const kv_append_packed: Op<"kv_append_packed", AppendPackedAttrs, 3> = defineOp({
  name: "kv_append_packed",
  summary:
    "kv_append into a cache of packed rows: new rows [T, heads, size] as blocks of 32 numbers into u8[heads, capacity, bytes], 34 bytes a block in q8_0 and 18 in q4_0.",
  arity: 3,
  operands: ["cache", "new rows", "past"],
  outputs: "one",
  results: ["cache"],
  attributes: { packing: attr.oneOf(CACHE_PACKINGS), ring: attr.optional(attr.bool()) },
  infer: ([cache, fresh, past], { packing }) => {
    const [heads, , bytes] = cache.shape;
    const fits =
      cache.shape.length === 3 &&
      fresh.shape.length === 3 &&
      fresh.shape[1] === heads &&
      bytes === packedRowBytes("kv_append_packed", fresh.shape[2], packing);
    if (!fits || cache.dtype !== "u8" || fresh.dtype !== "f32")
      throw new WorkbenchError(
        "IR_SHAPE",
        `[kv_append_packed] got cache ${formatType(cache)} and ${formatType(fresh)}, expected u8[heads, capacity, bytes] and f32[T, heads, size]`,
      );
    if (past.dtype !== "i32" || past.shape.length !== 0)
      throw new WorkbenchError("IR_TYPE", `[kv_append_packed] past: got ${formatType(past)}, expected i32[]`);
    return tensor("u8", cache.shape);
  },
  reference: ([cache, fresh, past], { packing, ...attrs }) => {
    const [heads = 0, capacity = 0, bytes = 0] = cache.shape;
    const [tokens = 0, , size = 0] = fresh.shape;
    const rows = appendedRows("kv_append_packed", [at(past.data, 0), tokens, capacity], attrs);
    const out = cache.data.slice();
    const each = (bytes / size) * 32;
    for (const [t, row] of rows.entries())
      for (let h = 0; h < heads; h++)
        for (let b = 0; b < size / 32; b++) {
          const to = (h * capacity + row) * bytes + b * each;
          packBlock(fresh.data, (t * heads + h) * size + b * 32, packing, out, to);
        }
    return hostTensor("u8", cache.shape, out);
  },
  oracle: {
    numpy: lines(
      `
def pack(x):
    x = x.astype(np.float32).reshape(*x.shape[:-1], -1, 32)
    if a["packing"] == "q8_0":
        d = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    else:
        d = np.take_along_axis(x, np.abs(x).argmax(-1, keepdims=True), -1) / np.float32(-8)
    y = x * np.where(d == 0, np.float32(0), np.float32(1) / np.where(d == 0, np.float32(1), d))
    if a["packing"] == "q8_0":
        q = (np.sign(y) * np.floor(np.abs(y) + np.float32(0.5))).astype(np.int8).view(np.uint8)
    else:
        q = np.minimum(15, (y + np.float32(8.5)).astype(np.uint8))
        q = q[..., :16] | q[..., 16:] << 4
    b = np.concatenate([d.astype(np.float16).view(np.uint8), q], -1)
    return b.reshape(*b.shape[:-2], -1)
`.trim(),
      appendNumpy("pack(new)"),
      "append(x0, x1, int(x2))",
    ),
  },
  gradient: nondifferentiable("packed rows are whole numbers: training keeps keys and values as floats"),
  batching: eachItem("kv_append_packed"),
  traits: ["pure"],
  moves: "appends",
  backends: {
    cpu: cpuKernel("kv_append", {
      takes: [["u8"], ["f32"], ["i32"]],
      params: ({ packing, ring = false }) => ({ packing: PACKING_CODE[packing], ...(ring && { ring }) }),
    }),
    ...PACKED_ON_CPU,
  },
  samples: [
    sample("q8_0, one token", [integers(1, [2, 3, 34], 0, 255, "u8"), normal(2, [1, 2, 32]), scalarInput(2)], {
      packing: "q8_0",
    }),
    sample(
      "q8_0, two blocks, symbolic",
      [integers(3, [1, 7, 68], 0, 255, "u8"), normal(4, ["T", 1, 64]), scalarInput(2)],
      { packing: "q8_0" },
      { bindings: { T: 4 } },
    ),
    sample(
      "q4_0, three heads, symbolic capacity",
      [integers(5, [3, "capacity", 18], 0, 255, "u8"), normal(6, [5, 3, 32]), scalarInput(0)],
      { packing: "q4_0" },
      { bindings: { capacity: 5 } },
    ),
    sample(
      "q4_0, ring, around its end, symbolic",
      [integers(9, [2, 7, 18], 0, 255, "u8"), normal(10, ["T", 2, 32]), scalarInput(12)],
      { packing: "q4_0", ring: true },
      { bindings: { T: 5 } },
    ),
    sample(
      "q4_0, zeros",
      [integers(7, [1, 2, 36], 0, 255, "u8"), integers(8, [1, 1, 64], 0, 0, "f32"), scalarInput(1)],
      {
        packing: "q4_0",
      },
    ),
  ],
});
