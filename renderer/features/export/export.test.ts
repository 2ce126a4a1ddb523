import { expect, it } from "vitest";
import { isSuggestedFolder, isThereAlready } from "./slice.ts";

it("tells free space only of the folder that it was asked for", () => {
  const plan = { suggestedPath: "/home/me/a.mlpackage" };
  expect(isSuggestedFolder("/home/me/b.mlpackage ", plan)).toBe(true);
  expect(isSuggestedFolder("/home/me/nowhere/b.mlpackage", plan)).toBe(false);
  expect(isSuggestedFolder("b.mlpackage", plan)).toBe(false);
});

it("knows what stands in the way from what may pass", () => {
  const error = { code: "INPUT_ARGUMENT", message: "x" } as const;
  expect(isThereAlready({ ...error, details: { exists: true } })).toBe(true);
  expect(isThereAlready({ ...error, details: {} })).toBe(false);
  expect(isThereAlready(error)).toBe(false);
});
