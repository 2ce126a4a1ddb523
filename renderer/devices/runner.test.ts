// Which device runs for a subject, and which subject a Mac begins with.
import { describe, expect, it } from "vitest";
import { firstBackend, runnerOf } from "./runner.ts";
import { testDevice } from "./testDevices.ts";

const list = (coreml: boolean, mlx: boolean) => [
  testDevice("cpu"),
  testDevice("coreml-sim"),
  testDevice("coreml", { available: coreml }),
  testDevice("mlx", { available: mlx }),
];

describe("the device of a subject", () => {
  it("is the runtime's own where it is here", () => {
    const devices = list(true, true);
    expect((["coreml", "mlx", "cpu"] as const).map((each) => runnerOf(each, devices))).toEqual([
      "coreml",
      "mlx",
      "cpu",
    ]);
  });

  it("is the CPU engine where the runtime is missing, and never a simulator", () => {
    const devices = list(false, false);
    expect((["coreml", "mlx", "cpu"] as const).map((each) => runnerOf(each, devices))).toEqual(["cpu", "cpu", "cpu"]);
    expect(runnerOf("coreml", [])).toBe("cpu");
  });
});

describe("the first subject of a Mac", () => {
  it("is the fastest device that was measured, else MLX where it is here, else what it was", () => {
    expect(firstBackend(list(true, true), "coreml")).toBe("coreml");
    expect(firstBackend(list(true, true), "cpu")).toBe("cpu");
    expect(firstBackend(list(true, true), null)).toBe("mlx");
    expect(firstBackend(list(true, false), null)).toBeNull();
  });
});
