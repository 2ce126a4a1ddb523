/**
 * How MLX holds a weight of a file, known from its type alone (docs/decisions/0010): affine groups
 * of 32 for the types that they hold exactly, f16 for the other packed ones, and everything else as
 * it is. native/src/mlx/weights.cpp does it; a test compares this table with what that reports.
 */
import type { ElementType } from "../../ir/dtype.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { isPacked } from "../../ir/dtype.ts";

export type MlxWeightForm =
  | { readonly kind: "exact"; readonly bits: number }
  /** Rounded to halves: the relative error of a value is below 2⁻¹¹. */
  | { readonly kind: "f16" }
  | { readonly kind: "same"; readonly type: ElementType };

const AFFINE_BITS: ReadonlyMap<ElementType, number> = new Map<ElementType, number>([
  ["q4_0", 4],
  ["q4_1", 4],
  ["q4_k", 4],
  ["q5_0", 5],
  ["q5_1", 5],
  ["q5_k", 5],
  ["q8_0", 8],
  ["q1_0", 2],
  ["q2_0", 2],
  ["tq1_0", 2],
  ["tq2_0", 2],
  ["mxfp4", 5],
  ["iq1_s", 5],
  ["iq3_s", 5],
  ["iq2_xxs", 8],
  ["iq3_xxs", 8],
  ["iq4_nl", 8],
  ["iq4_xs", 8],
]);
const GROUP = 32;

/** `rank`: MLX's affine form is one of matrices, and of experts of them. */
export function mlxWeightForm(type: ElementType, rank: number): MlxWeightForm {
  if (!isPacked(type)) return { kind: "same", type };
  const bits = rank >= 2 ? AFFINE_BITS.get(type) : undefined;
  return bits === undefined ? { kind: "f16" } : { kind: "exact", bits };
}

export const mlxFormText = (form: MlxWeightForm): string =>
  form.kind === "exact"
    ? `affine, ${form.bits} bits, groups of ${GROUP}, scale and bias in f32`
    : form.kind === "f16"
      ? "f16"
      : form.type;

/** Bytes of `elements` values in this form; `fileBytes` are those in the file. */
export function mlxHeldBytes(form: MlxWeightForm, elements: number, fileBytes: number): number {
  if (form.kind === "same") return fileBytes;
  return form.kind === "f16" ? elements * 2 : (elements * form.bits) / 8 + (elements / GROUP) * 8;
}

export const heldByMlx: HeldBytes = ({ type, shape, elements, fileBytes }) =>
  mlxHeldBytes(mlxWeightForm(type, shape.length), elements, fileBytes);
