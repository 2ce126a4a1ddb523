// Calibration: measured once per device, kept, measured again when what was kept is damaged; and the choice that follows from it.
import { describe, expect, test, vi } from "vitest";
import type { Calibration } from "../../runtime/calibration.ts";
import { pickBestDevice } from "../../runtime/calibration.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import type { Device } from "../../runtime/device.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import { loadAddon } from "../native/addon.ts";
import { calibrations } from "./calibrations.ts";
import { findMlxEngine } from "../native/mlxAddon.ts";

const cpu = loadAddon();
const mlx = findMlxEngine();
const devices: readonly ((weights: WeightFiles) => Device)[] = [
  (weights) => cpuDevice(cpu, { threads: 2, weights }),
  ...(typeof mlx === "string" ? [] : [(weights: WeightFiles) => mlxDevice(mlx, { mode: "compiled", weights })]),
];

describe("calibration", () => {
  test("every device is measured once, kept, and measured again when the entry is damaged", async () => {
    const kept = new Map<string, Uint8Array>();
    const store = {
      get: (key: string) => Promise.resolve(kept.get(key)),
      put: (key: string, bytes: Uint8Array) => Promise.resolve(void kept.set(key, bytes)),
    };
    const first = await calibrations({ devices, machine: "here", store, build: "one" });
    expect(first.map(({ how }) => how)).toEqual(devices.map(() => "measured"));
    for (const { calibration } of first) {
      expect(calibration.gemm).toHaveLength(2);
      const rates = [...calibration.gemm.map(({ flops }) => flops), calibration.bandwidth, calibration.reduction];
      for (const rate of [...rates, calibration.quantised]) {
        // Between a slow second of a busy machine and what no machine does.
        expect(rate).toBeGreaterThan(1e7);
        expect(rate).toBeLessThan(1e14);
      }
      expect(calibration.roundTrip).toBeLessThan(0.1);
      expect(calibration.attention).toBeGreaterThan(1e-7);
    }
    const again = await calibrations({ devices, machine: "here", store, build: "one" });
    expect(again).toEqual(first.map(({ calibration }) => ({ calibration, how: "kept" })));
    for (const key of kept.keys()) kept.set(key, new TextEncoder().encode('{"device":"cpu","gemm":[]}'));
    expect((await calibrations({ devices, machine: "here", store, build: "one" })).map(({ how }) => how)).toEqual(
      devices.map(() => "measured"),
    );
    const one = devices.slice(0, 1);
    const elsewhere = await calibrations({ devices: one, machine: "another chip", store, build: "one" });
    expect(elsewhere[0]?.how).toBe("measured");
    const later = await calibrations({ devices: one, machine: "here", store, build: "two" });
    expect(later[0]?.how).toBe("measured");
  }, 120_000);

  test("is measured where nothing can be kept, and not kept for a build that has no name", async () => {
    const one = devices.slice(0, 1);
    const broken = { get: () => Promise.reject(new Error("disk")), put: () => Promise.reject(new Error("full")) };
    const [found] = await calibrations({ devices: one, machine: "here", store: broken, build: "one" });
    expect(found?.how).toBe("measured");
    const untouched = { get: vi.fn(broken.get), put: vi.fn(broken.put) };
    await calibrations({ devices: one, machine: "here", store: untouched, build: undefined });
    expect(untouched.get).not.toHaveBeenCalled();
    expect(untouched.put).not.toHaveBeenCalled();
  }, 120_000);

  test("long prompts go where products are fast, long answers where weights are read fast", () => {
    const base = { title: "", bandwidth: 1e10, reduction: 1e10, attention: 1e-5, roundTrip: 1e-5 };
    const reader: Calibration = { ...base, device: "cpu", gemm: [{ size: 1024, flops: 1e11 }], quantised: 3e10 };
    const maker: Calibration = { ...base, device: "mlx", gemm: [{ size: 1024, flops: 4e12 }], quantised: 1e10 };
    const need = { weightBytes: 6e8, parameters: 1e9, layers: 16, promptTokens: 2000, generateTokens: 10 };
    expect(pickBestDevice([reader, maker], need)[0]?.device).toBe("mlx");
    expect(pickBestDevice([reader, maker], { ...need, promptTokens: 10, generateTokens: 2000 })[0]?.device).toBe("cpu");
    expect(() => pickBestDevice([], need)).toThrow(expect.objectContaining({ code: "ENV_NO_DEVICE" }));
  });
});
