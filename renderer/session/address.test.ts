import { describe, expect, it } from "vitest";
import { addressText, openOf, readAddress, sourceAt } from "./address.ts";

describe("an address", () => {
  it("is read as it was written", () => {
    for (const address of [
      { open: null, tab: null, op: null },
      {
        open: "/models/with space & sign#1+2%20.gguf",
        tab: "graph",
        op: { backend: "mlx", phase: "prefill", node: 12 },
      },
      { open: "C:\\Modelle\\größe.gguf", tab: "run", op: null },
      { open: "offer:sample", tab: "overview", op: null },
    ] as const)
      expect(readAddress(addressText(address))).toEqual(address);
  });

  it("keeps a path readable, and is empty for the first screen", () => {
    const at = { open: "/models/m.gguf", tab: "run", op: null } as const;
    expect(addressText(at)).toBe("#open=/models/m.gguf&tab=run");
    expect(addressText({ open: null, tab: null, op: null })).toBe("");
  });

  it("says nothing where it cannot be read", () => {
    expect(readAddress("#tab=secret&op=coreml-decode-x&open=")).toEqual({ open: null, tab: null, op: null });
    expect(readAddress("#op=coreml-later-1&&=%%%")).toEqual({ open: null, tab: null, op: null });
    expect(readAddress("#op=abacus-decode-9")).toMatchObject({ op: null });
    expect(readAddress("#op=coreml-decode-99999999999")).toMatchObject({ op: null });
  });

  it("names what can be opened again", () => {
    expect(openOf(sourceAt("/m.gguf"))).toBe("/m.gguf");
    expect(openOf(sourceAt("offer:sample"))).toBe("offer:sample");
    expect(sourceAt("offer:sample")).toEqual({ kind: "offer", id: "sample" });
    expect(openOf(null)).toBeNull();
  });
});
