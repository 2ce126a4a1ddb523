// A missing oracle is a skip with its reason on a developer's machine, and an error in CI.
import { afterEach, expect, it, vi } from "vitest";
import { reasonNotFound, reasonToSkip } from "./skipping.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

it("gives the reason where it may be skipped", () => {
  vi.stubEnv("CI", undefined);
  expect([reasonToSkip("no MLX"), reasonNotFound("no MLX")]).toEqual(["no MLX", "no MLX"]);
  expect([reasonToSkip(undefined), reasonNotFound({ engine: 1 })]).toEqual([undefined, undefined]);
});

it("is an error in continuous integration", () => {
  vi.stubEnv("CI", "true");
  expect(() => reasonNotFound("no MLX")).toThrow("no MLX (required in CI)");
  expect(reasonNotFound({ engine: 1 })).toBeUndefined();
});
