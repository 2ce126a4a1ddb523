/**
 * Which weights a package holds, in what form and where in the weight file. Planning needs names, types and shapes only,
 * so a program can be built (and shown) for a file whose data is not there; `write.ts` fills in the data.
 */
import type { ElementType } from "../../../ir/dtype.ts";
import { blockLayout, isPacked } from "../../../ir/dtype.ts";
import { invariant } from "../../../diagnostics/errors.ts";
import type { BlobPlan, BlobRecord } from "../blob.ts";
import type { MilDtype } from "../mil/types.ts";
import { elementCount } from "../mil/types.ts";
import type { PaletteWish, WeightForm, WeightPart, WeightProfile } from "./forms.ts";
import { partsOf, storedForm } from "./forms.ts";

/** A weight of the model, by the name of its tensor. */
export interface WeightTensor {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Where it is a range of rows of a larger one: that one's name, and its first row. */
  readonly part?: { readonly tensor: string; readonly firstRow: number };
}

export interface PlannedPart {
  readonly part: WeightPart;
  readonly dtype: MilDtype;
  readonly shape: readonly number[];
  /** Absent for a handful of elements: those stand in the program itself. */
  readonly record: BlobRecord | undefined;
}

/** Values with fewer elements are written into the program, as coremltools does. */
export const BLOB_ELEMENTS = 10;

/** Names a small part's data in `SmallParts`. */
export const partKey = (weight: string, part: WeightPart): string => `${weight}/${part}`;

/** Data of parts without a record, by `partKey`. */
export type SmallParts = ReadonlyMap<string, Uint8Array>;

export interface PlannedWeight extends WeightTensor {
  readonly form: WeightForm;
  readonly parts: readonly PlannedPart[];
}

/** A constant of the graph itself, kept in memory until it is written. */
export interface InlineConstant {
  readonly record: BlobRecord;
  readonly bytes: Uint8Array;
}

export class WeightPlan {
  readonly profile: WeightProfile;
  readonly blob: BlobPlan;
  readonly #weights = new Map<string, PlannedWeight>();
  readonly #inline = new Map<string, InlineConstant>();

  /** Tensors stored in fp32 whatever the profile: what reads them calculates so. */
  readonly #reads32: ReadonlySet<string>;
  readonly #palette: PaletteWish | undefined;

  constructor(
    profile: WeightProfile,
    blob: BlobPlan,
    {
      reads32 = new Set(),
      palette,
    }: { readonly reads32?: ReadonlySet<string>; readonly palette?: PaletteWish | undefined } = {},
  ) {
    this.profile = profile;
    this.blob = blob;
    this.#reads32 = reads32;
    this.#palette = palette;
  }

  /** The same tensor twice is stored once, whatever uses it. */
  weight(tensor: WeightTensor): PlannedWeight {
    const known = this.#weights.get(tensor.name);
    if (known !== undefined) {
      invariant(
        known.type === tensor.type && known.shape.join() === tensor.shape.join(),
        `weight ${tensor.name} has two types`,
      );
      return known;
    }
    const form = storedForm(tensor, this.#reads32.has(tensor.name) ? "exact" : this.profile, this.#palette);
    const parts = partsOf(form, tensor.shape).map((info): PlannedPart => {
      const count = elementCount(info.shape);
      return {
        ...info,
        record: count < BLOB_ELEMENTS ? undefined : this.blob.place(partKey(tensor.name, info.part), info.dtype, count),
      };
    });
    const planned: PlannedWeight = { ...tensor, form, parts };
    this.#weights.set(tensor.name, planned);
    return planned;
  }

  /** A constant that is known now; equal keys are one record. */
  inline(key: string, dtype: MilDtype, count: number, bytes: () => Uint8Array): BlobRecord {
    const known = this.#inline.get(key);
    if (known !== undefined) return known.record;
    const record = this.blob.place(`inline/${key}`, dtype, count);
    this.#inline.set(key, { record, bytes: bytes() });
    return record;
  }

  get weights(): readonly PlannedWeight[] {
    return [...this.#weights.values()];
  }

  get inlines(): readonly InlineConstant[] {
    return [...this.#inline.values()];
  }
}

/** Bytes of some elements of a tensor in the model file. */
export function fileBytes(type: ElementType, count: number): number {
  const layout = blockLayout(type);
  return (count / layout.elements) * layout.bytes;
}

/** Elements in a row: what a block never crosses. */
export function rowElements(tensor: WeightTensor): number {
  return tensor.shape.length === 0
    ? 1
    : isPacked(tensor.type) || tensor.shape.length > 1
      ? (tensor.shape.at(-1) ?? 1)
      : elementCount(tensor.shape);
}
