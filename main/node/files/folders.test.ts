import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { dataFolder } from "../nodeEngine.ts";
import { readSettings } from "../settings.ts";
import { userHome, xdgFolder } from "./folders.ts";

afterEach(() => vi.unstubAllEnvs());

it.each(["", "relative/home"])("HOME=%j names no folder below the current one", (home) => {
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_DATA_HOME", "");
  expect(isAbsolute(userHome())).toBe(true);
  expect(isAbsolute(dataFolder(readSettings({})))).toBe(true);
});

it("an empty or relative XDG variable counts as unset", () => {
  const usual = join(homedir(), ".cache");
  for (const given of ["", "x/y", undefined]) expect(xdgFolder("X", ".cache", { X: given })).toBe(usual);
  expect(xdgFolder("X", ".cache", { X: "/data" })).toBe("/data");
});
