/** Facts of every decoder in a package, on any runner. */
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { floatOf } from "../../../backends/coreml/weights/forms.ts";
import type { CacheType } from "../../../models/blocks.ts";

/** The cache of a package has the type of its floats. */
export const packageCache = (target: PlanTarget): CacheType => (floatOf(target.profile) === "fp32" ? "f32" : "f16");
