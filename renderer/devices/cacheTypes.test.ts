import { expect, it } from "vitest";
import { cacheTypeChoice } from "./cacheTypes.ts";

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
