/** What is true of every decoder in a package, whatever runs it. */
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { STORED_TYPES } from "../../../backends/coreml/weights/forms.ts";
import type { ElementType } from "../../../ir/dtype.ts";
import type { CacheType } from "../../../runtime/devices/provider.ts";

/** Weights that a package can hold. */
export const PACKAGE_TYPES: readonly ElementType[] = STORED_TYPES;

/** Keys and values of a package have the type of its floats. */
export const packageCache = (target: PlanTarget): CacheType => (target.profile === "exact" ? "f32" : "f16");
