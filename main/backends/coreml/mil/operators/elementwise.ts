/** Element-wise operators: one number in, one out; two in with broadcasting; casts and selection. */
import { realPower } from "../../../../ir/realPower.ts";
import { powerWhole } from "../../../../ir/wholeNumbers.ts";
import { elementCount, isFloat, tensorType } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { allocate, packageTensor } from "../../package/packageTensor.ts";
import { broadcastShape, broadcastStrides, offsets, simError } from "../../simulator/tensor.ts";
import { broadcast } from "../reader.ts";
import type { MilDtype } from "../types.ts";
import type { Infer, Operators } from "./operator.ts";
import { EIGHT_EACH, each, namedDtype, same } from "./operator.ts";

const SQRT_HALF = Math.SQRT1_2;

/** erf to double precision: its series near zero, a continued fraction of erfc further out. */
export function erf(x: number): number {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    // 2/√π · e^(−x²) · Σ 2^n x^(2n+1) / (1·3·5…(2n+1))
    let term = size;
    let sum = size;
    for (let n = 1; n < 60 && term > sum * 1e-17; n++) {
      term *= (2 * size * size) / (2 * n + 1);
      sum += term;
    }
    return Math.sign(x) * ((2 / Math.sqrt(Math.PI)) * Math.exp(-size * size) * sum);
  }
  let fraction = 0;
  for (let n = 60; n >= 1; n--) fraction = n / 2 / (size + fraction);
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + fraction));
}

/** To the nearest whole number, ties to even. */
export function roundEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return Math.round(x);
  return down % 2 === 0 ? down : down + 1;
}

const sigmoid = (x: number): number => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const clamp = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x);

const GELU: Readonly<Record<string, (x: number) => number>> = {
  EXACT: (x) => 0.5 * x * (1 + erf(x * SQRT_HALF)),
  TANH_APPROXIMATION: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  SIGMOID_APPROXIMATION: (x) => x * sigmoid(1.702 * x),
};

function map(x: PackageTensor, dtype: PackageTensor["dtype"], f: (v: number) => number): PackageTensor {
  const out = allocate(dtype, x.data.length);
  for (let i = 0; i < out.length; i++) out[i] = f(x.data[i] as number);
  return packageTensor(dtype, x.shape, out);
}

const unary =
  (f: (v: number) => number): Kernel =>
  (a) =>
    map(a.tensor("x"), a.dtype, f);

/** Functions with parameters: read once, then applied. */
const withParameters =
  (make: (a: Arguments) => (v: number) => number): Kernel =>
  (a) =>
    map(a.tensor("x"), a.dtype, make(a));

/** f over two tensors with NumPy broadcasting; the usual shapes have loops of their own. */
export function zip(
  x: PackageTensor,
  y: PackageTensor,
  dtype: PackageTensor["dtype"],
  f: (p: number, q: number) => number,
): PackageTensor {
  const shape = broadcastShape(x.shape, y.shape);
  const count = elementCount(shape);
  const out = allocate(dtype, count);
  const [p, q] = [x.data, y.data];
  if (p.length === count && q.length === count)
    for (let i = 0; i < count; i++) out[i] = f(p[i] as number, q[i] as number);
  else if (p.length === count && q.length === 1)
    for (let i = 0; i < count; i++) out[i] = f(p[i] as number, q[0] as number);
  else {
    const [at, bt] = [
      offsets(shape, broadcastStrides(x.shape, shape)),
      offsets(shape, broadcastStrides(y.shape, shape)),
    ];
    for (let i = 0; i < count; i++) out[i] = f(p[at[i] as number] as number, q[bt[i] as number] as number);
  }
  return packageTensor(dtype, shape, out);
}

const binary =
  (f: (p: number, q: number) => number): Kernel =>
  (a) =>
    zip(a.tensor("x"), a.tensor("y"), a.dtype, f);

const floorMod = (p: number, q: number): number => p - Math.floor(p / q) * q;

const divide: Kernel = (a) => {
  const whole = !isFloat(a.dtype);
  return zip(a.tensor("x"), a.tensor("y"), a.dtype, (p, q) => (whole ? Math.trunc(p / q) : p / q));
};

const cast: Kernel = (a) => {
  const x = a.tensor("x");
  const to = a.dtype;
  if (to === "bool") return map(x, to, (v) => (v !== 0 ? 1 : 0));
  if (isFloat(to)) return map(x, to, (v) => v);
  const [low, high] = LIMITS[to] ?? [-(2 ** 31), 2 ** 31 - 1];
  return map(x, to, (v) => clamp(Number.isNaN(v) ? 0 : Math.trunc(v), low, high));
};

const LIMITS: Readonly<Record<string, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
};

const select: Kernel = (a) => {
  const [cond, x, y] = [a.tensor("cond"), a.tensor("a"), a.tensor("b")];
  const shape = broadcastShape(broadcastShape(cond.shape, x.shape), y.shape);
  const [ct, at, bt] = [cond, x, y].map((t) => offsets(shape, broadcastStrides(t.shape, shape)));
  if (ct === undefined || at === undefined || bt === undefined) return simError(a.type, "arguments");
  const out = allocate(a.dtype, ct.length);
  for (let i = 0; i < out.length; i++)
    out[i] =
      cond.data[ct[i] as number] !== 0 ? (x.data[at[i] as number] as number) : (y.data[bt[i] as number] as number);
  return packageTensor(a.dtype, shape, out);
};

const prelu: Kernel = (a) => {
  const [x, alpha] = [a.tensor("x"), a.tensor("alpha")];
  const inner = elementCount(x.shape.slice(2));
  const channels = x.shape[1] ?? 1;
  const out = Float32Array.from(x.data, (v, i) =>
    v >= 0 ? v : v * (alpha.data[Math.floor(i / inner) % channels] ?? 0),
  );
  return packageTensor(a.dtype, x.shape, out);
};

// Types of the results.

/** The branches alone make the shape; the condition may only be stretched to it. */
const selectType: Infer = (a) => {
  const shape = broadcast(a.tensor("a").shape, a.tensor("b").shape, a);
  if (broadcast(a.tensor("cond").shape, shape, a).join() !== shape.join())
    a.fail("the condition is larger than the branches");
  return [tensorType(a.tensor("a").dtype, shape)];
};

const broadcastType =
  (dtype?: MilDtype): Infer =>
  (a) => [tensorType(dtype ?? a.tensor("x").dtype, broadcast(a.tensor("x").shape, a.tensor("y").shape, a))];

export const ELEMENTWISE: Operators = {
  ...each(
    { infer: same },
    {
      abs: unary(Math.abs),
      acos: unary(Math.acos),
      asin: unary(Math.asin),
      atan: unary(Math.atan),
      atanh: unary(Math.atanh),
      ceil: unary(Math.ceil),
      cos: unary(Math.cos),
      cosh: unary(Math.cosh),
      erf: unary(erf),
      exp: unary(Math.exp),
      exp2: unary((v) => 2 ** v),
      floor: unary(Math.floor),
      round: unary(roundEven),
      sign: unary(Math.sign),
      sin: unary(Math.sin),
      sinh: unary(Math.sinh),
      sqrt: unary(Math.sqrt),
      square: unary((v) => v * v),
      tan: unary(Math.tan),
      tanh: unary(Math.tanh),
      relu: unary((v) => Math.max(v, 0)),
      relu6: unary((v) => clamp(v, 0, 6)),
      sigmoid: unary(sigmoid),
      softplus: unary(softplus),
      softsign: unary((v) => v / (1 + Math.abs(v))),
      logical_not: unary((v) => (v === 0 ? 1 : 0)),
      inverse: withParameters((a) => {
        const e = a.number("epsilon");
        return (v) => 1 / (v + e);
      }),
      log: withParameters((a) => {
        const e = a.number("epsilon");
        return (v) => Math.log(v + e);
      }),
      rsqrt: withParameters((a) => {
        const e = a.number("epsilon");
        return (v) => 1 / Math.sqrt(v + e);
      }),
      clip: withParameters((a) => {
        const [low, high] = [a.number("alpha"), a.number("beta")];
        return (v) => clamp(v, low, high);
      }),
      threshold: withParameters((a) => {
        const low = a.number("alpha");
        return (v) => Math.max(v, low);
      }),
      leaky_relu: withParameters((a) => {
        const k = a.number("alpha");
        return (v) => (v >= 0 ? v : k * v);
      }),
      elu: withParameters((a) => {
        const k = a.number("alpha");
        return (v) => (v >= 0 ? v : k * Math.expm1(v));
      }),
      sigmoid_hard: withParameters((a) => {
        const [k, b] = [a.number("alpha"), a.number("beta")];
        return (v) => clamp(k * v + b, 0, 1);
      }),
      clamped_relu: withParameters((a) => {
        const [k, b] = [a.number("alpha"), a.number("beta")];
        return (v) => Math.min(v >= 0 ? v : k * v, b);
      }),
      linear_activation: withParameters((a) => {
        const [k, b] = [a.number("alpha"), a.number("beta")];
        return (v) => k * v + b;
      }),
      scaled_tanh: withParameters((a) => {
        const [k, b] = [a.number("alpha"), a.number("beta")];
        return (v) => k * Math.tanh(b * v);
      }),
      prelu,
    },
  ),
  ...each({ infer: same, free: true }, { identity: unary((v) => v) }),
  ...each(
    { infer: same, ...EIGHT_EACH },
    {
      silu: unary((v) => v * sigmoid(v)),
      gelu: withParameters((a) => GELU[a.text("mode")] ?? simError("gelu", `mode ${a.text("mode")}`)),
    },
  ),
  ...each(
    { infer: broadcastType() },
    {
      add: binary((p, q) => p + q),
      sub: binary((p, q) => p - q),
      // int32 wraps; the product as a float64 would lose its last digits first.
      mul: (a) => zip(a.tensor("x"), a.tensor("y"), a.dtype, isFloat(a.dtype) ? (p, q) => p * q : Math.imul),
      real_div: divide,
      floor_div: binary((p, q) => Math.floor(p / q)),
      mod: binary(floorMod),
      pow: (a) =>
        zip(a.tensor("x"), a.tensor("y"), a.dtype, isFloat(a.dtype) ? realPower : (p, q) => powerWhole(p, q, "i32")),
      maximum: binary(Math.max),
      minimum: binary(Math.min),
    },
  ),
  ...each(
    { infer: broadcastType("bool") },
    {
      equal: binary((p, q) => (p === q ? 1 : 0)),
      not_equal: binary((p, q) => (p !== q ? 1 : 0)),
      greater: binary((p, q) => (p > q ? 1 : 0)),
      greater_equal: binary((p, q) => (p >= q ? 1 : 0)),
      less: binary((p, q) => (p < q ? 1 : 0)),
      less_equal: binary((p, q) => (p <= q ? 1 : 0)),
      logical_and: binary((p, q) => p & q),
      logical_or: binary((p, q) => p | q),
      logical_xor: binary((p, q) => p ^ q),
    },
  ),
  cast: { infer: (a) => [tensorType(namedDtype(a, "dtype"), a.tensor("x").shape)], run: cast },
  select: { infer: selectType, run: select },
};
