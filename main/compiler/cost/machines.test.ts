// Machines: what is published for a chip, what this Mac tells of itself, and what was measured here.
import { describe, expect, it } from "vitest";
import { CHIPS, familyOf } from "../../backends/coreml/plan/target.ts";
import type { Here } from "./machines.ts";
import { chipHere, machineFor, MACHINES } from "./machines.ts";

const elsewhere: Here = { platform: "linux", chip: "some x86", cores: 2, totalBytes: 8 * 2 ** 30 };

describe("machines", () => {
  const mac = (chip: string, cores: number, gigabytes: number): Here => ({
    platform: "darwin",
    chip,
    cores,
    totalBytes: gigabytes * 2 ** 30,
  });

  it("are this Mac with its variant and memory, where the target is its family", () => {
    const pro = machineFor({ chip: "m4" }, mac("Apple M4 Pro", 14, 48));
    expect(pro).toMatchObject({ title: "this M4 Pro, 48 GB", memoryBytes: 48 * 2 ** 30 });
    expect(pro.bandwidth.gpu.perSecond).toBe(273e9);
    // Its Neural Engine is that of the M4.
    expect(pro.bandwidth.ane.perSecond).toBe(120e9);
    expect(machineFor({ chip: "m4" }, mac("Apple M4 Max", 14, 36)).bandwidth.gpu.perSecond).toBe(410e9);
    expect(machineFor({ chip: "m4" }, mac("Apple M4 Max", 16, 128)).bandwidth.gpu.perSecond).toBe(546e9);
    expect(machineFor({ chip: "m2" }, mac("Apple M2 Ultra", 24, 192)).bandwidth.cpu.perSecond).toBe(800e9);
    expect(machineFor({ chip: "m5" }, mac("Apple M5 Max", 18, 64)).title).toBe("this M5 Max, reckoned as M5, 64 GB");
  });

  it("are the plain chip as it is sold for another family, and elsewhere", () => {
    expect(machineFor({ chip: "m2" }, mac("Apple M4 Pro", 14, 48))).toMatchObject({ title: "M2, 16 GB" });
    expect(machineFor({ chip: "m4" }, elsewhere)).toMatchObject({ title: "M4, 24 GB", memoryBytes: 24 * 2 ** 30 });
    expect(machineFor({ chip: "x1" }, elsewhere).title).toBe("M4, 24 GB");
  });

  it("are a named variant, with its family's Neural Engine, and the memory that was chosen", () => {
    const max = machineFor({ chip: "m4-max-16", memoryGiB: 128 }, elsewhere);
    expect(max).toMatchObject({ title: "M4 Max, 128 GB", memoryBytes: 128 * 2 ** 30 });
    expect(max.bandwidth.cpu.perSecond).toBe(546e9);
    expect(max.bandwidth.ane.perSecond).toBe(120e9);
    expect(machineFor({ chip: "m5-max" }, elsewhere).title).toBe("M5 Max, reckoned as M5, 24 GB");
    // Another variant than this Mac's is not this Mac.
    expect(machineFor({ chip: "m4-max" }, mac("Apple M4 Pro", 14, 48)).title).toBe("M4 Max, 36 GB");
    expect(machineFor({ chip: "m4-pro" }, mac("Apple M4 Pro", 14, 48)).title).toBe("this M4 Pro, 48 GB");
    expect(chipHere(mac("Apple M4 Max", 16, 128))).toBe("m4-max-16");
    expect(chipHere(elsewhere)).toBeUndefined();
    expect(MACHINES.every(({ id }) => CHIPS.some((family) => family.id === familyOf(id)))).toBe(true);
  });

  it("leave a program three quarters of the memory, and the GPU two thirds of less than 36 GB", () => {
    const usable = (chip: string) => machineFor({ chip }, elsewhere).usable;
    expect(usable("m4").program.bytes).toBe(18 * 2 ** 30);
    expect(usable("m4").gpu.bytes).toBe(16 * 2 ** 30);
    expect(usable("m4-max").gpu.bytes).toBe(27 * 2 ** 30);
    const own = machineFor({ chip: "m4" }, { ...mac("Apple M4", 10, 24), gpuBytes: 17e9 });
    expect(own.usable.gpu).toEqual({ bytes: 17e9, source: "what Metal says that this GPU may hold" });
  });

  it("take what was measured on this Mac, and on no other", () => {
    const measured = [{ unit: "gpu", device: "MLX", perSecond: 97e9 }] as const;
    const own = { ...mac("Apple M4", 10, 24), measured };
    expect(machineFor({ chip: "m4" }, own).bandwidth.gpu).toMatchObject({
      perSecond: 97e9,
      source: "measured here, on MLX",
      reach: { high: 1 },
    });
    expect(machineFor({ chip: "m4" }, own).bandwidth.cpu.perSecond).toBe(120e9);
    expect(machineFor({ chip: "m1" }, own).bandwidth.gpu.perSecond).toBe(68.25e9);
  });
});
