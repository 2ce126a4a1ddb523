import { describe, expect, it, vi } from "vitest";
import type { CompileStore } from "./compileCache.ts";
import { cached, memoryStore } from "./compileCache.ts";

const content = Uint8Array.of(1, 2, 3);
/** Values are the text of the bytes; a 9 in them is none of ours, an 8 throws. */
const recipe = () => ({
  read: vi.fn((bytes: Uint8Array) => {
    if (bytes.includes(8)) throw new Error("no");
    return bytes.includes(9) ? undefined : `read ${bytes.join()}`;
  }),
  make: vi.fn(() => ({ value: "made", content })),
});

describe("compile cache", () => {
  it("makes once, then reads", async () => {
    const store = memoryStore();
    const { read, make } = recipe();
    expect(await cached(store, "k", { read, make })).toEqual({ value: "made", how: "made" });
    expect(read).not.toHaveBeenCalled();
    expect(await cached(store, "k", { read, make })).toEqual({ value: "read 1,2,3", how: "hit" });
    expect(make).toHaveBeenCalledTimes(1);
    expect(await cached(store, "other", { read, make })).toEqual({ value: "made", how: "made" });
    expect(await cached(undefined, "k", { read, make })).toEqual({ value: "made", how: "made" });
  });

  it("takes every changed bit, every cut, and an entry of another key for a miss, and mends it", async () => {
    const store = memoryStore();
    await cached(store, "k", recipe());
    const whole = store.entries.get("k")!;
    const damaged: Uint8Array[] = [];
    for (let i = 0; i < whole.length; i++) {
      const flipped = whole.slice();
      flipped[i]! ^= 1 << (i % 8);
      damaged.push(flipped, whole.slice(0, i));
    }
    const longer = new Uint8Array(whole.length + 1);
    longer.set(whole);
    await cached(store, "other", recipe());
    for (const bytes of [...damaged, longer, store.entries.get("other")!]) {
      store.entries.set("k", bytes);
      const { read, make } = recipe();
      expect(await cached(store, "k", { read, make })).toEqual({ value: "made", how: "repaired" });
      expect(read).not.toHaveBeenCalled();
      expect(store.entries.get("k")).toEqual(whole);
    }
  });

  it("makes again what the reader refuses or throws at", async () => {
    for (const bad of [8, 9]) {
      const store = memoryStore();
      await cached(store, "k", { ...recipe(), make: () => ({ value: "bad", content: Uint8Array.of(bad) }) });
      const again = recipe();
      expect((await cached(store, "k", again)).how).toBe("repaired");
      expect(again.read).toHaveBeenCalledTimes(1);
      expect((await cached(store, "k", again)).how).toBe("hit");
    }
  });

  it("survives a store that fails and passes on what making throws", async () => {
    const broken: CompileStore = {
      get: () => Promise.reject(new Error("disk")),
      put: () => Promise.reject(new Error("full")),
    };
    expect(await cached(broken, "k", recipe())).toEqual({ value: "made", how: "made" });
    const store = memoryStore();
    const failing = (): never => {
      throw new Error("cannot");
    };
    await expect(cached(store, "k", { ...recipe(), make: failing })).rejects.toThrow("cannot");
    expect(store.entries.size).toBe(0);
  });
});
