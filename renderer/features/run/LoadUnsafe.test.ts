import { describe, expect, it } from "vitest";
import { unsafeVerdict } from "./LoadUnsafe.tsx";

describe("consent to an unsafe model", () => {
  it("is asked for the verdict that the error names, and for no other error", () => {
    const error = { code: "COREML_UNSAFE", message: "not loaded", details: { verdict: "a|15.5.0|M3|all|decode" } };
    expect(unsafeVerdict(error)).toBe("a|15.5.0|M3|all|decode");
    expect(unsafeVerdict({ ...error, code: "COREML_CRASHED" })).toBeNull();
    expect(unsafeVerdict({ ...error, details: { verdict: 3 } })).toBeNull();
    expect(unsafeVerdict({ code: "COREML_UNSAFE", message: "" })).toBeNull();
  });
});
