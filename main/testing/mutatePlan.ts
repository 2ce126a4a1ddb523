/** Damages plans: random bytes, or fields with nearly right values, which get further. */
import type { Random } from "./random.ts";

/** A copy with one to three faults. */
export function damagedPlan(plan: Uint8Array, random: Random): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(plan);
  const view = new DataView(bytes.buffer);
  const inFields = random.integer(2) === 0;
  for (let faults = 1 + random.integer(3); faults > 0; faults--) {
    if (!inFields) {
      bytes[random.integer(bytes.length)] = random.pick([0, 1, 2, 127, 128, 255, random.integer(256)]);
      continue;
    }
    const at = 4 * random.integer(Math.floor(bytes.length / 4));
    const old = view.getUint32(at, true);
    view.setUint32(at, random.pick([0, 1, 2, old + 1, old * 2, old >>> 1, 0xffffffff, random.integer(64)]), true);
  }
  return bytes;
}
