import { describe, expect, it } from "vitest";
import { commandText, quote } from "./command.ts";

const target = { chip: "m4", os: "macos26", units: "cpu-ane", profile: "auto", context: 2048 } as const;

describe("the command of an action", () => {
  it("names the model and the target", () => {
    expect(commandText({ kind: "route", phase: "decode", target }, "~/Models/q.gguf")).toBe(
      "rlx route ~/Models/q.gguf --phase decode --chip m4 --os macos26 --units cpu-ane --profile auto --context 2048",
    );
    expect(commandText({ kind: "export", target, path: "/tmp/My model.mlpackage" }, "m.gguf")).toContain(
      "--output '/tmp/My model.mlpackage'",
    );
  });

  it("does not pretend for a model that only the window has", () => {
    expect(commandText({ kind: "inspect" }, null)).toBeNull();
    expect(commandText({ kind: "doctor" }, null)).toBe("rlx doctor");
  });

  it("quotes what a shell would read", () => {
    expect(quote("plain-1.gguf")).toBe("plain-1.gguf");
    expect(quote("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(quote("")).toBe("''");
  });
});
