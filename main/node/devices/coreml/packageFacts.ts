/** What is true of every decoder in a package, whatever runs it. */
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import type { CacheType } from "../../../runtime/devices/provider.ts";

/** Keys and values of a package have the type of its floats. */
export const packageCache = (target: PlanTarget): CacheType => (target.profile === "exact" ? "f32" : "f16");
