/** How many bytes an engine holds of a weight. It reads all of them where it uses the whole weight. */
import type { ElementType } from "./dtype.ts";

export interface StoredWeight {
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly fileBytes: number;
}

export type HeldBytes = (weight: StoredWeight) => number;

/** Of an engine that reads the mapped file. */
export const heldAsStored: HeldBytes = ({ fileBytes }) => fileBytes;
