import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { findChromium } from "./lib/environment.mjs";

afterEach(() => vi.unstubAllEnvs());

it("RLX_CHROMIUM names the Chromium, and one that is not there is no reason not to look", () => {
  vi.stubEnv("RLX_CHROMIUM", process.execPath);
  expect(findChromium()).toBe(process.execPath);
  vi.stubEnv("RLX_CHROMIUM", "");
  const usual = findChromium();
  vi.stubEnv("RLX_CHROMIUM", "/no/such/chromium");
  expect(findChromium()).toBe(usual);
});

it.each(["e2e/playwright.config.ts", "bench/support/page.ts"])("%s has no places of its own", (path) => {
  const text = readFileSync(resolve(import.meta.dirname, "..", path), "utf8");
  expect(text).toContain("findChromium()");
  expect(text).not.toMatch(/\/usr\/bin|\/Applications/);
});
