/** What ops of chance share: the operand that says which numbers come, their types, how words become numbers, samples. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { SampleInput } from "../defineOp.ts";
import { nondifferentiable, unsupported } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { philox } from "./philox.ts";
import { at } from "./host.ts";
import { values } from "./samples.ts";

export interface ShapeAttrs {
  readonly shape: Shape;
}
export const shapeSchema = { shape: attr.dims() } as const;

const SEED = { dtype: "i32", shape: [4] } as const;

/** Two words of a key and two of a counter: a step of training that counts the last one on gets new numbers. */
export function checkSeed(op: string, seed: TensorType): void {
  if (seed.dtype !== SEED.dtype || !sameShape(seed.shape, SEED.shape))
    throw new WorkbenchError("IR_TYPE", `[${op}] seed: got ${formatType(seed)}, expected ${formatType(SEED)}`, {
      hint: "Give a key of two words and a counter of two, such as layer and step.",
    });
}

/** Words of 32 bits: number i is word i mod 4 of the block ⌊i / 4⌋, which is the low half of the counter. */
export function wordsOf(seed: ArrayLike<number>, count: number): Float64Array {
  const [k0 = 0, k1 = 0, c2 = 0, c3 = 0] = Array.from(seed, (word) => word >>> 0);
  const out = new Float64Array(count);
  for (let block = 0; 4 * block < count; block++)
    out.set(philox([block, 0, c2, c3], [k0, k1]).slice(0, count - 4 * block), 4 * block);
  return out;
}

/** The upper 24 bits of a word as a number from 0 to 1, without 1: f32 holds each. */
export const unitOf = (word: number): number => Math.floor(word / 256) * 2 ** -24;

export const unitsOf = (seed: ArrayLike<number>, count: number): Float64Array => wordsOf(seed, count).map(unitOf);

const whole24 = (g: OpBuilder, words: Value): Value =>
  g.cast([g.shift_right([words, g.constant(hostScalar("u32", 8))])], { to: "f32" });
const real = (g: OpBuilder, value: number): Value => g.constant(hostScalar("f32", value));

export const unitParts = (g: OpBuilder, words: Value): Value => g.mul([whole24(g, words), real(g, 2 ** -24)]);
/** From 0 to 1, without 0. */
export const positiveUnitParts = (g: OpBuilder, words: Value): Value =>
  g.mul([g.add([whole24(g, words), real(g, 1)]), real(g, 2 ** -24)]);
/** Of a word as a number. */
export const positiveUnitOf = (data: ArrayLike<number>, i: number): number => unitOf(at(data, i)) + 2 ** -24;

export const RANDOM_ON_HOST = unsupported(
  "Core ML has no products of 32-bit words to make these numbers by: it runs as a host segment between Core ML models",
);
export const noDerivativeOfChance = nondifferentiable(
  "its result depends on whole numbers alone, which have no derivative",
);

export const seedInput = (...words: readonly [number, number, number, number]): SampleInput =>
  values(words, [4], "i32");
