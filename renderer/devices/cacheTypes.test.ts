import { expect, it } from "vitest";
import { anyCacheTypes, cacheTypeChoice, cacheTypeOptions, keptElsewhere, sharedCacheTypes } from "./cacheTypes.ts";

it("offers what the device takes, and says why there is no more", () => {
  const all = cacheTypeChoice({ title: "CPU", cacheTypes: ["f16", "f32", "q8_0", "q4_0"] });
  expect(all.options.map(({ id }) => id)).toEqual(["own", "f16", "f32", "q8_0", "q4_0"]);
  expect(all.sentence).toContain("about half");
  const floats = cacheTypeChoice({ title: "MLX", cacheTypes: ["f16", "f32"] });
  expect(floats.options.map(({ id }) => id)).toEqual(["own", "f16", "f32"]);
  expect(floats.sentence).toContain("Only the CPU engine");
  expect(cacheTypeChoice({ title: "Core ML" })).toEqual({
    options: [],
    sentence: "Core ML keeps keys and values in a type of its own.",
  });
});

const cpu = { title: "CPU", backend: "cpu", cacheTypes: ["f16", "f32", "q8_0", "q4_0"] } as const;
const mlx = { title: "MLX", backend: "mlx", cacheTypes: ["f16", "f32"] } as const;
const coreml = { title: "Core ML", backend: "coreml" } as const;
const devices = [coreml, mlx, cpu].map((device) => ({
  ...device,
  ...("cacheTypes" in device && { cacheTypes: [...device.cacheTypes] }),
}));

it("offers for a benchmark what all take that are measured in turn", () => {
  const [ml, gpu, engine] = devices;
  expect(sharedCacheTypes([engine])).toEqual(["f16", "f32", "q8_0", "q4_0"]);
  expect(sharedCacheTypes([engine, gpu])).toEqual(["f16", "f32"]);
  expect(sharedCacheTypes([engine, ml])).toEqual([]);
  expect(sharedCacheTypes([undefined])).toEqual([]);
  expect(cacheTypeOptions([])).toEqual([]);
});

it("names a device that keeps them so, where the subject does not", () => {
  expect(anyCacheTypes(devices)).toEqual(["f16", "f32", "q8_0", "q4_0"]);
  expect(keptElsewhere(devices, "coreml", "q4_0")?.title).toBe("CPU");
  expect(keptElsewhere(devices, "mlx", "q8_0")?.title).toBe("CPU");
  expect(keptElsewhere(devices, "cpu", "q8_0")).toBeUndefined();
  expect(keptElsewhere(devices, "mlx", "f32")).toBeUndefined();
});
