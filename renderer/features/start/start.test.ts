import { describe, expect, it } from "vitest";
import { offerSize } from "./Offers.tsx";

describe("the size of an offer", () => {
  it("is never nothing: what has no data says so", () => {
    expect(offerSize({ bytes: 2_830_000, kind: "sample" })).toMatch(/^2\.83.MB$/);
    expect(offerSize({ bytes: 0, kind: "header-only" })).toBe("no weights");
    expect(offerSize({ bytes: 0, kind: "demo-graph" })).toBe("made here");
  });
});
