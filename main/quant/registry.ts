/**
 * The list of packed types. To add one: a file beside this one, its import, and its name below;
 * then the same in native/src/core/formats, in the same order (a test compares the two). Everything
 * else reads this list.
 */
import type { PackedFormat } from "./format.ts";
import { iq1_m } from "./iq1_m.ts";
import { iq1_s } from "./iq1_s.ts";
import { iq2_s } from "./iq2_s.ts";
import { iq2_xs } from "./iq2_xs.ts";
import { iq2_xxs } from "./iq2_xxs.ts";
import { iq3_s } from "./iq3_s.ts";
import { iq3_xxs } from "./iq3_xxs.ts";
import { iq4_nl } from "./iq4_nl.ts";
import { iq4_xs } from "./iq4_xs.ts";
import { mxfp4 } from "./mxfp4.ts";
import { nvfp4 } from "./nvfp4.ts";
import { q1_0 } from "./q1_0.ts";
import { q2_0 } from "./q2_0.ts";
import { q2_k } from "./q2_k.ts";
import { q3_k } from "./q3_k.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_1 } from "./q4_1.ts";
import { q4_k } from "./q4_k.ts";
import { q5_0 } from "./q5_0.ts";
import { q5_1 } from "./q5_1.ts";
import { q5_k } from "./q5_k.ts";
import { q6_k } from "./q6_k.ts";
import { q8_0 } from "./q8_0.ts";
import { q8_k } from "./q8_k.ts";
import { tq1_0 } from "./tq1_0.ts";
import { tq2_0 } from "./tq2_0.ts";

export const PACKED = {
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
  tq2_0,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  tq1_0,
  nvfp4,
  q1_0,
  q2_0,
} as const satisfies Readonly<Record<string, PackedFormat>>;

export type PackedType = keyof typeof PACKED;

/** In the order of the list, which is the order of their codes in native plans. */
export const PACKED_TYPES = Object.keys(PACKED) as readonly PackedType[];

/** Bits of a stored value, scales included. */
export const bitsPerWeight = (type: PackedType): number => (PACKED[type].bytes * 8) / PACKED[type].elements;
