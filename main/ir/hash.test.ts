import { describe, expect, it } from "vitest";
import { hashBytes, hashText } from "./hash.ts";

describe("hashBytes", () => {
  // The words that the mmh3 package gives (hash_bytes, seed 0, x86 variant), each printed big-endian.
  it("equals MurmurHash3_x86_128", () => {
    expect(hashText("")).toBe("00000000000000000000000000000000");
    expect(hashText("abc")).toBe("75cdc6d1a2b006a5a2b006a5a2b006a5");
    expect(hashText("I will not buy this record, it is scratched.")).toBe("a0a9683b25ac5e40d9af2895890dddf5");
    expect(hashText("I will not buy this tobacconist's, it is scratched.")).toBe("9b5b7ba2ef3f7866889adeaf00f3f98e");
  });

  it("sees every byte and the length", () => {
    const base = new Uint8Array(37).map((_, i) => i);
    const seen = new Set([hashBytes(base)]);
    for (let i = 0; i < base.length; i++) {
      const changed = base.slice();
      changed[i] = (changed[i] ?? 0) ^ 1;
      seen.add(hashBytes(changed));
    }
    seen.add(hashBytes(new Uint8Array(38).map((_, i) => (i < 37 ? i : 0))));
    expect(seen.size).toBe(39);
  });
});
