/**
 * Levers of a target: other ways to compile the same program. All off is how a program is compiled without them. They change
 * where operators can run and how much moves, not what is computed.
 */
import type { Units } from "./plan/target.ts";
import { aneEdge, chipOf } from "./plan/target.ts";

export interface TargetOptions {
  /** A matrix with more rows than the Neural Engine takes is computed in parts, which are laid one behind the other. */
  readonly splitRows: boolean;
  /** Rows of a computed tensor are picked by a product, which the Neural Engine has, and not by a gather, which it has not. */
  readonly islands: boolean;
  /** Caches are Core ML states with f16 weights, too, instead of going in and out of every call. */
  readonly states: boolean;
  /** Units of the prefill function, where they are not those of decode. */
  readonly prefillUnits: Units | null;
}

export const NO_OPTIONS: TargetOptions = { splitRows: false, islands: false, states: false, prefillUnits: null };

/** What the lowering of a function needs to know of them. */
export interface LoweringLevers {
  /** Most rows of a matrix before it is split. */
  readonly rowLimit: number;
  readonly picksByProduct: boolean;
  readonly states: boolean;
}

export const NO_LEVERS: LoweringLevers = { rowLimit: Infinity, picksByProduct: false, states: false };

/** The levers of a target: how many rows are too many depends on its chip. */
export function leversOf({
  chip,
  options,
}: {
  readonly chip: string;
  readonly options?: TargetOptions | undefined;
}): LoweringLevers {
  if (options === undefined) return NO_LEVERS;
  return {
    rowLimit: options.splitRows ? aneEdge(chipOf(chip)) : Infinity,
    picksByProduct: options.islands,
    states: options.states,
  };
}

/** Equal for targets that are compiled alike; empty where all is off. */
export const leversText = ({ rowLimit, picksByProduct, states }: LoweringLevers): string =>
  [rowLimit === Infinity ? "" : `rows ${rowLimit}`, picksByProduct ? "picks" : "", states ? "states" : ""]
    .filter((part) => part !== "")
    .join(" ");
