import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { Decomposition, InputsOf, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, uniform, withDoubles } from "../families/samples.ts";

type Operands<T> = InputsOf<6, T>;

/** x [T, H, P], step [T, H], rate [H] or [H, 1], b and c [T, G, N], state [H, P, N]. */
function infer(types: Operands<TensorType>): readonly TensorType[] {
  const [x, step, rate, b, c, state] = types;
  const [tokens = 0, heads, columns = 0] = x.shape;
  const [, groups, rows = 0] = b.shape;
  const fits =
    x.shape.length === 3 &&
    b.shape.length === 3 &&
    typeof heads === "number" &&
    typeof groups === "number" &&
    groups > 0 &&
    heads % groups === 0 &&
    sameShape(step.shape, [tokens, heads]) &&
    (sameShape(rate.shape, [heads]) || sameShape(rate.shape, [heads, 1])) &&
    b.shape[0] === tokens &&
    sameShape(c.shape, b.shape) &&
    sameShape(state.shape, [heads, columns, rows]);
  if (!fits || !isFloat(x.dtype) || types.some(({ dtype }) => dtype !== x.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[ssd] got ${types.map(formatType).join(", ")}; expected floats [T, H, P], [T, H], [H] or [H, 1], [T, G, N], [T, G, N], [H, P, N], with G a divisor of H`,
    );
  const dtype = plainDType(x.dtype, "ssd");
  return [tensor(dtype, x.shape), tensor(dtype, state.shape)];
}

function reference([x, step, rate, b, c, state]: Operands<HostTensor>): readonly HostTensor[] {
  const [tokens = 0, heads = 0, columns = 0] = x.shape;
  const [, groups = 1, rows = 0] = b.shape;
  const y = new Float64Array(x.data.length);
  const after = state.data.slice();
  for (let t = 0; t < tokens; t++)
    for (let h = 0; h < heads; h++) {
      const group = (t * groups + Math.floor((h * groups) / heads)) * rows;
      const dt = at(step.data, t * heads + h);
      const decay = Math.exp(dt * at(rate.data, h));
      for (let p = 0; p < columns; p++)
        for (let n = 0; n < rows; n++) {
          const [row, cell] = [(t * heads + h) * columns + p, (h * columns + p) * rows + n];
          after[cell] = decay * at(after, cell) + dt * at(x.data, row) * at(b.data, group + n);
          y[row] = at(y, row) + at(after, cell) * at(c.data, group + n);
        }
    }
  return [hostTensor(x.dtype, x.shape, y), hostTensor(x.dtype, state.shape, after)];
}

/** A selective scan of what the steps have scaled. */
const decompose: Decomposition<NoAttrs, 6> = (g, [x, step, rate, b, c, state]) => {
  const [tokens = 0, heads = 0] = g.typeOf(x).shape;
  const wide = g.reshape([step], { shape: [tokens, heads, 1] });
  const own = g.typeOf(rate).shape.length === 2 ? rate : g.reshape([rate], { shape: [heads, 1] });
  return g.selective_scan([g.mul([x, wide]), wide, own, b, c, state], { reads: "after" });
};

/** Sizes [T, H, P, G, N]. */
const operandsOf = (
  seed: number,
  [tokens, heads, columns, groups, rows]: readonly [number | string, number, number, number, number],
  rates: readonly number[] = [heads],
) => [
  normal(seed, [tokens, heads, columns]),
  uniform(seed + 1, [tokens, heads], 0.1, 1),
  uniform(seed + 2, rates, -1.5, -0.1),
  normal(seed + 3, [tokens, groups, rows]),
  normal(seed + 4, [tokens, groups, rows]),
  normal(seed + 5, [heads, columns, rows]),
];

export const ssd: Op<"ssd", NoAttrs, 6, "many"> = defineOp({
  name: "ssd",
  summary:
    "The recurrence of Mamba 2, a decay for each head: state ← e^(step · rate) · state + (step · x) ⊗ b, y = state c. Neighbouring heads share the b and c of a group. Gives y [T, H, P] and the state [H, P, N] behind the last token.",
  arity: 6,
  operands: ["x", "step", "rate", "b", "c", "state"],
  outputs: "many",
  results: ["y", "state after"],
  attributes: {},
  infer,
  reference,
  oracle: {
    jax: lines(
      "share = x0.shape[1] // x3.shape[1]",
      "b, c = (jnp.repeat(x, share, axis=1) for x in (x3, x4))",
      `
def turn(state, token):
    x, step, b, c = token
    after = jnp.exp(step * x2.reshape(-1))[:, None, None] * state + (step[:, None] * x)[:, :, None] * b[:, None, :]
    return after, jnp.einsum("hpn,hn->hp", after, c)
`.trim(),
      "after, y = jax.lax.scan(turn, x5, (x0, x1, b, c))",
      "(y, after)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "sensitive"],
  backends: everywhere(decompose),
  samples: withDoubles([
    sample("several tokens, groups", operandsOf(1, [5, 6, 3, 2, 4]), {}),
    sample("one token, rates as a column", operandsOf(11, [1, 3, 5, 3, 7], [3, 1]), {}),
    sample("symbolic", operandsOf(21, ["T", 2, 3, 1, 4]), {}, { bindings: { T: 6 } }),
    sample("more tokens than a chunk", operandsOf(31, [70, 2, 3, 1, 2]), {}, { differentiable: false }),
  ]),
});
