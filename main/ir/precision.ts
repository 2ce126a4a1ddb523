/**
 * In which float type a graph is computed:
 *   f32    as the model is built
 *   mixed  products and element-wise work in half; sums, norms, exponentials, attention and rotary angles in f32: ops say so
 *          themselves, by a trait
 *   f16    everything in half but rotary angles, which reach thousands, and host functions
 */
export const PRECISION_POLICIES = ["f32", "mixed", "f16"] as const;
export type PrecisionPolicy = (typeof PRECISION_POLICIES)[number];
