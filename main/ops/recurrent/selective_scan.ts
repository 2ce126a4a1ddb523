import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Decomposition, Op, Sample } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, uniform, withDoubles } from "../families/samples.ts";
import type { ScanOperands, ScanReads } from "../families/scan.ts";
import { scanParts } from "../families/scan.ts";

export interface SelectiveScanAttrs {
  /** The state that a token reads: with what it has added itself, or without. */
  readonly reads: ScanReads;
}

/** x [T, H, P], step [T, H, 1 or N], rate [H, 1 or N], b and c [T, G, N], state [H, P, N]. */
function infer([x, step, rate, b, c, state]: ScanOperands<TensorType>): readonly TensorType[] {
  const [tokens = 0, heads, columns = 0] = x.shape;
  const [, groups] = b.shape;
  const rows = state.shape[2] ?? 0;
  const given = [x, step, rate, b, c, state];
  const isWidth = (size: unknown): boolean => size === 1 || size === rows;
  const fits =
    x.shape.length === 3 &&
    typeof heads === "number" &&
    typeof groups === "number" &&
    groups > 0 &&
    heads % groups === 0 &&
    sameShape(state.shape, [heads, columns, rows]) &&
    sameShape(step.shape.slice(0, 2), [tokens, heads]) &&
    step.shape.length === 3 &&
    isWidth(step.shape[2]) &&
    rate.shape.length === 2 &&
    rate.shape[0] === heads &&
    isWidth(rate.shape[1]) &&
    sameShape(b.shape, [tokens, groups, rows]) &&
    sameShape(c.shape, b.shape);
  if (!fits || !isFloat(x.dtype) || given.some(({ dtype }) => dtype !== x.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[selective_scan] got ${given.map(formatType).join(", ")}; expected floats [T, H, P], [T, H, 1 or N], [H, 1 or N], [T, G, N], [T, G, N], [H, P, N], with G a divisor of H`,
    );
  const dtype = plainDType(x.dtype, "selective_scan");
  return [tensor(dtype, x.shape), tensor(dtype, state.shape)];
}

function reference(
  [x, step, rate, b, c, state]: ScanOperands<HostTensor>,
  { reads }: SelectiveScanAttrs,
): readonly HostTensor[] {
  const [tokens = 0, heads = 0, columns = 0] = x.shape;
  const [, groups = 1, rows = 0] = b.shape;
  const [, , stepWidth = 1] = step.shape;
  const [, rateWidth = 1] = rate.shape;
  const y = new Float64Array(tokens * heads * columns);
  const after = state.data.slice();
  for (let t = 0; t < tokens; t++)
    for (let h = 0; h < heads; h++) {
      const group = (t * groups + Math.floor((h * groups) / heads)) * rows;
      for (let n = 0; n < rows; n++) {
        const decay = Math.exp(
          at(step.data, (t * heads + h) * stepWidth + (n % stepWidth)) * at(rate.data, h * rateWidth + (n % rateWidth)),
        );
        for (let p = 0; p < columns; p++) {
          const [row, cell] = [(t * heads + h) * columns + p, (h * columns + p) * rows + n];
          const old = at(after, cell);
          const fresh = decay * old + at(x.data, row) * at(b.data, group + n);
          after[cell] = fresh;
          y[row] = at(y, row) + at(c.data, group + n) * (reads === "after" ? fresh : old);
        }
      }
    }
  return [hostTensor(x.dtype, x.shape, y), hostTensor(x.dtype, state.shape, after)];
}

/** Sizes [T, H, P, G, N]; widths of step and rate. */
const scan = (
  title: string,
  seed: number,
  [tokens, heads, columns, groups, rows]: readonly [number | string, number, number, number, number],
  [stepWidth, rateWidth]: readonly [number, number],
  reads: ScanReads,
  more: Partial<Sample<SelectiveScanAttrs>> = {},
): Sample<SelectiveScanAttrs> =>
  sample(
    title,
    [
      normal(seed, [tokens, heads, columns]),
      uniform(seed + 1, [tokens, heads, stepWidth], 0.1, 1),
      uniform(seed + 2, [heads, rateWidth], -1.5, -0.1),
      normal(seed + 3, [tokens, groups, rows]),
      normal(seed + 4, [tokens, groups, rows]),
      normal(seed + 5, [heads, columns, rows]),
    ],
    { reads },
    more,
  );

const CORE_ML =
  "Core ML has no operator with a memory: more tokens than one are products over all pairs of them where a head has one decay, up to 64 at a time, and where each element has its own, sums that reach twice as far each time, or beyond 64 tokens a scan";

const decompose: Decomposition<SelectiveScanAttrs, 6> = (g, operands, { reads }) => scanParts(g, operands, reads);

export const selective_scan: Op<"selective_scan", SelectiveScanAttrs, 6, "many"> = defineOp({
  name: "selective_scan",
  summary:
    "A state [H, P, N] that fades from token to token and takes in what each brings: state ← e^(step · rate) · state + x ⊗ b; y is the state times c, after or before the token's own part. Neighbouring heads share the b and c of a group. Gives y [T, H, P] and the state behind the last token.",
  arity: 6,
  operands: ["x", "step", "rate", "b", "c", "state"],
  outputs: "many",
  results: ["y", "state after"],
  attributes: { reads: attr.oneOf(["after", "before"]) },
  infer,
  reference,
  oracle: {
    jax: lines(
      "heads, groups = x0.shape[1], x3.shape[1]",
      "b, c = (np.repeat(x, heads // groups, axis=1) for x in (x3, x4))",
      `
def turn(state, token):
    x, step, b, c = token
    after = jnp.exp(step * x2)[:, None, :] * state + x[:, :, None] * b[:, None, :]
    return after, jnp.einsum("hpn,hn->hp", after if a["reads"] == "after" else state, c)
`.trim(),
      "after, y = jax.lax.scan(turn, x5, (x0, x1, b, c))",
      "(y, after)",
    ),
  },
  gradient: decomposed(decompose),
  batching: eachItem("selective_scan"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("selective_scan", {
      takes: REALS,
      params: ({ reads }) => ({ before: reads === "before" }),
    }),
    coreml: decomposed(decompose, CORE_ML),
    mlx: mlxCall("selective_scan", {
      attrs: ({ reads }) => ({ before: reads === "before" }),
      when: ({ inputs: [x] }) => x?.shape[0] !== 0 || "MLX joins what the tokens give, and there are none",
    }),
  },
  samples: withDoubles([
    scan("a decay for each head, groups", 1, [5, 6, 3, 2, 4], [1, 1], "after"),
    scan("a decay for each element", 11, [7, 5, 1, 1, 3], [1, 3], "after"),
    scan("decays of the token, read before", 21, [6, 2, 3, 2, 5], [5, 1], "before"),
    scan("one token", 31, [1, 3, 2, 1, 4], [1, 4], "after"),
    scan("one token, read before", 41, [1, 2, 3, 2, 4], [4, 1], "before"),
    scan("symbolic", 51, ["T", 4, 5, 1, 3], [1, 1], "after", { bindings: { T: 9 } }),
    scan("symbolic, read before", 61, ["T", 2, 3, 2, 3], [1, 1], "before", { bindings: { T: 3 } }),
    scan("symbolic, a decay for each element", 71, ["T", 2, 1, 1, 3], [1, 3], "after", { bindings: { T: 5 } }),
    scan("no tokens", 101, [0, 2, 3, 1, 4], [4, 1], "before"),
    scan("more tokens than a chunk", 81, [67, 2, 1, 1, 2], [1, 1], "before", { differentiable: false }),
    scan("many decays of elements", 91, [66, 2, 1, 1, 2], [2, 1], "before", { differentiable: false }),
  ]),
});
