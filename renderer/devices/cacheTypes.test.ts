import { expect, it } from "vitest";
import { cacheChoices, cacheTypeFor, cacheTypesOf } from "./cacheTypes.ts";

it("offers packed types on the CPU alone, none of a package, and says why", () => {
  expect(cacheChoices("cpu").map(({ id }) => id)).toEqual(["own", "f16", "f32", "q8_0", "q4_0"]);
  expect(cacheChoices("mlx").map(({ id }) => id)).toEqual(["own", "f16", "f32"]);
  expect(cacheTypesOf("mlx").sentence).toContain("Only the CPU engine");
  expect(cacheChoices("coreml").map(({ id }) => id)).toEqual(["own"]);
  expect(cacheTypesOf("coreml").sentence).toContain("profile");
});

it("asks a device for no type that it does not take", () => {
  expect(cacheTypeFor("cpu", "q4_0")).toBe("q4_0");
  expect(cacheTypeFor("mlx", "q4_0")).toBeNull();
  expect(cacheTypeFor("mlx", "f16")).toBe("f16");
  expect(cacheTypeFor("coreml-sim", "f16")).toBeNull();
  expect(cacheTypeFor("cpu", null)).toBeNull();
});
