/** The fusions of the CPU backend, in order. They follow the passes that every backend shares. */
import type { Fusion } from "../../../ir/fusion.ts";
import { attentionBlock } from "./attentionBlock.ts";
import { elementwiseRegion } from "./elementwiseRegion.ts";
import { gatedLinear, normIntoBlock, residualAdd, siblingProducts } from "./linearBlock.ts";

export const CPU_FUSIONS: readonly Fusion[] = [
  gatedLinear,
  siblingProducts,
  residualAdd,
  normIntoBlock,
  attentionBlock,
  elementwiseRegion,
];
