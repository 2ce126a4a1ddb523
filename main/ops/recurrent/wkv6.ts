import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
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

/** r, k, fading [T, H, N], v [T, H, V], bonus [H, N], state [H, V, N]. */
function infer(types: Operands<TensorType>): readonly TensorType[] {
  const [r, k, v, fading, bonus, state] = types;
  const [tokens = 0, heads, size = 0] = r.shape;
  const values = v.shape[2] ?? 0;
  const fits =
    r.shape.length === 3 &&
    typeof heads === "number" &&
    heads > 0 &&
    sameShape(k.shape, r.shape) &&
    sameShape(v.shape, [tokens, heads, values]) &&
    sameShape(fading.shape, r.shape) &&
    sameShape(bonus.shape, [heads, size]) &&
    sameShape(state.shape, [heads, values, size]);
  if (!fits || !isFloat(r.dtype) || types.some(({ dtype }) => dtype !== r.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[wkv6] got ${types.map(formatType).join(", ")}; expected floats [T, H, N], [T, H, N], [T, H, V], [T, H, N], [H, N], [H, V, N]`,
    );
  const dtype = plainDType(r.dtype, "wkv6");
  return [tensor(dtype, v.shape), tensor(dtype, state.shape)];
}

function reference([r, k, v, fading, bonus, state]: Operands<HostTensor>): readonly HostTensor[] {
  const [tokens = 0, heads = 0, size = 0] = r.shape;
  const [, , values = 0] = v.shape;
  const y = new Float64Array(v.data.length);
  const after = state.data.slice();
  for (let token = 0; token < tokens * heads; token++) {
    const head = token % heads;
    let own = 0;
    for (let n = 0; n < size; n++)
      own += at(r.data, token * size + n) * at(bonus.data, head * size + n) * at(k.data, token * size + n);
    for (let j = 0; j < values; j++) {
      const row = token * values + j;
      for (let n = 0; n < size; n++) {
        const [place, cell] = [token * size + n, (head * values + j) * size + n];
        y[row] = at(y, row) + at(r.data, place) * at(after, cell);
        after[cell] = Math.exp(at(fading.data, place)) * at(after, cell) + at(v.data, row) * at(k.data, place);
      }
      y[row] = at(y, row) + at(v.data, row) * own;
    }
  }
  return [hostTensor(r.dtype, v.shape, y), hostTensor(r.dtype, state.shape, after)];
}

/** A selective scan that reads the state before the token, and what the token says of itself. */
const decompose: Decomposition<NoAttrs, 6> = (g, [r, k, v, fading, bonus, state]) => {
  const { dtype, shape } = g.typeOf(r);
  const heads = staticDim(shape[1] ?? 0, "wkv6");
  const one = g.constant(hostTensor(plainDType(dtype, "wkv6"), [heads, 1], Array<number>(heads).fill(1)));
  const [held, after] = g.selective_scan([v, fading, one, k, r, state], { reads: "before" });
  const own = g.reduce([g.mul([g.mul([r, bonus]), k])], { kind: "sum", axes: [2], keepDims: true });
  return held && after ? [g.add([held, g.mul([v, own])]), after] : [];
};

/** Sizes [T, H, N, V]. */
const operandsOf = (
  seed: number,
  [tokens, heads, size, values]: readonly [number | string, number, number, number],
) => [
  normal(seed, [tokens, heads, size]),
  normal(seed + 1, [tokens, heads, size]),
  normal(seed + 2, [tokens, heads, values]),
  uniform(seed + 3, [tokens, heads, size], -1.5, -0.1),
  normal(seed + 4, [heads, size]),
  normal(seed + 5, [heads, values, size]),
];

export const wkv6: Op<"wkv6", NoAttrs, 6, "many"> = defineOp({
  name: "wkv6",
  summary:
    "The recurrence of RWKV 6 for each head: y = state r + v (bonus · k)ᵀ r, state ← state · diag(e^fading) + v kᵀ. Gives y [T, H, V] and the state [H, V, N] behind the last token.",
  arity: 6,
  operands: ["r", "k", "v", "fading", "bonus", "state"],
  outputs: "many",
  results: ["y", "state after"],
  attributes: {},
  infer,
  reference,
  oracle: {
    jax: lines(
      `
def turn(state, token):
    r, k, v, fading = token
    fresh = v[:, :, None] * k[:, None, :]
    y = jnp.einsum("hvn,hn->hv", state + x4[:, None, :] * fresh, r)
    return state * jnp.exp(fading)[:, None, :] + fresh, y
`.trim(),
      "after, y = jax.lax.scan(turn, x5, (x0, x1, x2, x3))",
      "(y, after)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "sensitive"],
  backends: everywhere(decompose),
  samples: withDoubles([
    sample("several tokens", operandsOf(1, [5, 2, 3, 4]), {}),
    sample("one token, odd sizes", operandsOf(11, [1, 3, 5, 5]), {}),
    sample("no tokens", operandsOf(31, [0, 2, 4, 3]), {}),
    sample("symbolic", operandsOf(21, ["T", 1, 3, 3]), {}, { bindings: { T: 6 } }),
  ]),
});
