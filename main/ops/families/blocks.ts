/** Codes in blocks along the last axis, each with a scale of its own: (code − zero) · scale, or a small float times its scale. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { InputsOf, Range } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { scalarLike } from "./constants.ts";
import { at, roundHalfEven } from "./host.ts";
import type { Minifloat } from "./minifloat.ts";
import { LAYOUTS, MINIFLOATS, decoded, encoded } from "./minifloat.ts";

const WHOLE = { int8: 127, int4: 7 } as const;
export const SCHEMES = ["int8", "int4", ...MINIFLOATS] as const;
export type Scheme = (typeof SCHEMES)[number];

export interface SchemeAttrs {
  readonly scheme: Scheme;
}
export const schemeSchema = { scheme: attr.oneOf(SCHEMES) } as const;

const formatOf = (scheme: Scheme): Minifloat | undefined => MINIFLOATS.find((format) => format === scheme);
/** The largest number that a code stands for, before its scale. */
export const mostOf = (scheme: Scheme): number =>
  scheme === "int8" || scheme === "int4" ? WHOLE[scheme] : LAYOUTS[scheme].most;
export const codeType = (scheme: Scheme): DType => (formatOf(scheme) === undefined ? "i8" : "u8");

export function codeOf(value: number, scheme: Scheme): number {
  const format = formatOf(scheme);
  if (format !== undefined) return encoded(value, format);
  const most = mostOf(scheme);
  return Number.isNaN(value) ? 0 : Math.min(Math.max(roundHalfEven(value), -most), most);
}

/** Blocks as an axis of their own, the last but one. */
export function inBlocks(g: OpBuilder, x: Value, blocks: number): Value {
  const { shape } = g.typeOf(x);
  const columns = Number(shape.at(-1) ?? 0);
  return g.reshape([x], { shape: [...shape.slice(0, -1), blocks, blocks === 0 ? 0 : columns / blocks] });
}

/** One number for each block, as it broadcasts against `inBlocks`. */
export const perBlock = (g: OpBuilder, value: Value): Value =>
  g.reshape([value], { shape: [...g.typeOf(value).shape, 1] });

export function codeParts(g: OpBuilder, value: Value, scheme: Scheme): Value {
  const format = formatOf(scheme);
  if (format !== undefined) return g.to_minifloat([value], { format });
  const most = mostOf(scheme);
  const none = g.where([g.is_nan([value]), scalarLike(g, value, 0), value]);
  return g.cast([g.clamp([g.round([none])], { low: -most, high: most })], { to: "i8" });
}

/** Codes, scales, and for whole numbers maybe zeros. */
export type CodesArity = Range<2, 3>;

export function checkBlocks(op: string, inputs: InputsOf<CodesArity, TensorType>, { scheme }: SchemeAttrs): void {
  const [codes, scales, zeros] = inputs;
  const [columns, blocks] = [codes.shape.at(-1), scales.shape.at(-1)];
  const divides =
    typeof columns === "number" &&
    typeof blocks === "number" &&
    (blocks === 0 ? columns === 0 : columns % blocks === 0);
  const fits = divides && sameShape(codes.shape.slice(0, -1), scales.shape.slice(0, -1));
  const isRight = codes.dtype === codeType(scheme) && scales.dtype === "f32";
  const zerosFit = zeros === undefined || (zeros.dtype === "i8" && sameShape(zeros.shape, scales.shape));
  if (fits && isRight && zerosFit && (zeros === undefined || formatOf(scheme) === undefined)) return;
  const got = [codes, scales, ...(zeros === undefined ? [] : [zeros])].map(formatType).join(", ");
  throw new WorkbenchError(
    "IR_TYPE",
    `[${op}] ${scheme}: got ${got}; expected ${codeType(scheme)}[…, K] and a scale f32[…, K / block] for each block`,
    { hint: "Zeros are i8 with a value for each block, and for int8 and int4 only." },
  );
}

export function blockParts(g: OpBuilder, inputs: InputsOf<CodesArity, Value>, { scheme }: SchemeAttrs): Value {
  const [codes, scales, zeros] = inputs;
  const format = formatOf(scheme);
  const real = format === undefined ? g.cast([codes], { to: "f32" }) : g.from_minifloat([codes], { format });
  const apart = inBlocks(g, real, Number(g.typeOf(scales).shape.at(-1) ?? 0));
  const centre = zeros === undefined ? apart : g.sub([apart, perBlock(g, g.cast([zeros], { to: "f32" }))]);
  return g.reshape([g.mul([centre, perBlock(g, scales)])], { shape: g.typeOf(codes).shape });
}

export function dequantizedBlocks(inputs: InputsOf<CodesArity, HostTensor>, { scheme }: SchemeAttrs): HostTensor {
  const [codes, scales, zeros] = inputs;
  const format = formatOf(scheme);
  const block = sizeOf(codes.shape) / Math.max(1, sizeOf(scales.shape));
  const made = codes.data.map((code, i) => {
    const own = Math.floor(i / block);
    const value = format === undefined ? code - (zeros === undefined ? 0 : at(zeros.data, own)) : decoded(code, format);
    return value * at(scales.data, own);
  });
  return hostTensor("f32", codes.shape, made);
}

/** The number of blocks of a row; refuses rows that are none, or no whole blocks. */
export function blocksOf(op: string, x: TensorType, block: number): number {
  const columns = x.shape.at(-1);
  if (typeof columns === "number" && columns % block === 0) return columns / block;
  throw new WorkbenchError("IR_SHAPE", `[${op}] got ${formatType(x)}, expected rows of whole blocks of ${block}`, {
    hint: "Pad the last axis, or take a block that divides it.",
  });
}

export const scaleShape = (x: TensorType, blocks: number): Shape => [...x.shape.slice(0, -1), blocks];

/** In Python: `dequantized(codes, scales, zeros)`, by what NumPy and ml_dtypes say of each scheme. */
export const BLOCKS_IN_PYTHON = `
def dequantized(codes, scales, zeros=None):
    kind = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m1": "float4_e2m1fn"}.get(a["scheme"])
    codes = np.asarray(codes)
    real = codes.astype("f8") if kind is None else codes.astype(np.uint8).view(np.dtype(getattr(jnp, kind))).astype("f8")
    scales = np.asarray(scales)
    apart = real.reshape(*scales.shape, -1) if scales.size else real.reshape(*scales.shape, 0)
    return ((apart - (0 if zeros is None else np.asarray(zeros, "f8")[..., None])) * scales[..., None]).reshape(codes.shape)
`.trim();
