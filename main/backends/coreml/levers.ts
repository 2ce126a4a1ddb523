/**
 * Levers of a target: other ways to compile the same program. All off is how a program is compiled without them. They change
 * where operators can run and how much moves, not what is computed; but a palette rounds the weights.
 */
import type { HeldBytes } from "../../ir/heldBytes.ts";
import type { PlanTarget, Units } from "./plan/target.ts";
import { aneEdge, chipOf, systemOf } from "./plan/target.ts";
import type { PaletteBits, PaletteWish } from "./weights/forms.ts";
import { heldInPackage } from "./weights/forms.ts";

export interface TargetOptions {
  /** A matrix with more rows than the Neural Engine takes is computed in parts, which are laid one behind the other. */
  readonly splitRows: boolean;
  /** Rows of a computed tensor are picked by a product, which the Neural Engine has, and not by a gather, which it has not. */
  readonly islands: boolean;
  /** Caches are Core ML states with f16 weights, too, instead of going in and out of every call. */
  readonly states: boolean;
  /** Units of the prefill function, where they are not those of decode. */
  readonly prefillUnits: Units | null;
  /** Matrices that would be stored as f16 are a palette: so many bits for each weight, and tables of f16 values. */
  readonly palette: PaletteBits | null;
}

export const NO_OPTIONS: TargetOptions = {
  splitRows: false,
  islands: false,
  states: false,
  prefillUnits: null,
  palette: null,
};

/** What the lowering of a function needs to know of them. */
export interface LoweringLevers {
  /** Most rows of a matrix before it is split. */
  readonly rowLimit: number;
  readonly picksByProduct: boolean;
  readonly states: boolean;
  readonly palette: PaletteWish | undefined;
}

export const NO_LEVERS: LoweringLevers = {
  rowLimit: Infinity,
  picksByProduct: false,
  states: false,
  palette: undefined,
};

interface LeveredTarget {
  readonly chip: string;
  readonly os: string;
  readonly options?: TargetOptions | undefined;
}

/** The palette of a target: before macOS 15 a tensor has one table. */
export function paletteOf({ os, options }: Pick<LeveredTarget, "os" | "options">): PaletteWish | undefined {
  const bits = options?.palette ?? null;
  return bits === null ? undefined : { bits, inBytes: systemOf(os).opset === "CoreML7" };
}

/** How a package for a target holds weights. */
export const heldFor = (target: Pick<PlanTarget, "profile" | "os" | "options">): HeldBytes =>
  heldInPackage(target.profile, paletteOf(target));

/** The levers of a target: how many rows are too many depends on its chip. */
export function leversOf({ chip, os, options }: LeveredTarget): LoweringLevers {
  if (options === undefined) return NO_LEVERS;
  return {
    rowLimit: options.splitRows ? aneEdge(chipOf(chip)) : Infinity,
    picksByProduct: options.islands,
    states: options.states,
    palette: paletteOf({ os, options }),
  };
}

/** Equal for targets that are compiled alike; empty where all is off. */
export const leversText = ({ rowLimit, picksByProduct, states, palette }: LoweringLevers): string =>
  [
    rowLimit === Infinity ? "" : `rows ${rowLimit}`,
    picksByProduct ? "picks" : "",
    states ? "states" : "",
    palette === undefined ? "" : `a palette of ${palette.bits} bits`,
  ]
    .filter((part) => part !== "")
    .join(" ");
