/** Every operator that this backend emits and the simulator runs, by name. */
import { CONSTEXPR } from "./constexpr.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import { INDEXING } from "./indexing.ts";
import { LINEAR } from "./linear.ts";
import { NORM } from "./norm.ts";
import type { MilOperator } from "./operator.ts";
import { QUANTISED } from "./quantised.ts";
import { REDUCE } from "./reduce.ts";
import { SHAPE } from "./shape.ts";
import { SLICES } from "./slices.ts";
import { WINDOWS } from "./windows.ts";

export const MIL_OPERATORS: ReadonlyMap<string, MilOperator> = new Map(
  [ELEMENTWISE, REDUCE, NORM, LINEAR, WINDOWS, SHAPE, SLICES, INDEXING, QUANTISED, CONSTEXPR].flatMap((family) =>
    Object.entries(family),
  ),
);
