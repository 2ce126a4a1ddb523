/** What a package says of itself and of its functions, as plain data. */
import type { MilDtype } from "./mil/types.ts";

/** Flexible sizes of an input: a list of shapes (the default first), or a range per dimension. */
export type Flexibility =
  | { readonly kind: "enumerated"; readonly shapes: readonly (readonly number[])[] }
  | { readonly kind: "range"; readonly sizes: readonly (readonly [lower: number, upper: number])[] };

export interface FunctionInterface {
  readonly name: string;
  readonly inputs: readonly FeatureInfo[];
  readonly outputs: readonly FeatureInfo[];
  readonly states: readonly FeatureInfo[];
}

export interface FeatureInfo {
  readonly name: string;
  readonly dtype: MilDtype;
  /** The default shape; empty for a scalar, and for an output of unknown shape. */
  readonly shape: readonly number[];
  readonly flexible?: Flexibility;
  readonly description?: string;
}

export interface ModelMetadata {
  readonly shortDescription: string;
  readonly author: string;
  readonly license: string;
  readonly version: string;
  readonly userDefined: Readonly<Record<string, string>>;
}
