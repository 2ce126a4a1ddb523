import { afterEach, expect, it, vi } from "vitest";
import { findChromium } from "./lib/environment.mjs";

afterEach(() => vi.unstubAllEnvs());

it("RLX_CHROMIUM names the Chromium, for the tests of the window as well", async () => {
  vi.stubEnv("RLX_CHROMIUM", process.execPath);
  expect(findChromium()).toBe(process.execPath);
  const { default: config } = (await import("../e2e/playwright.config.ts")) as {
    readonly default: { readonly use?: { readonly launchOptions?: { readonly executablePath?: string } } };
  };
  expect(config.use?.launchOptions?.executablePath).toBe(process.execPath);
});

it("one that is not there is no reason not to look", () => {
  vi.stubEnv("RLX_CHROMIUM", "");
  const usual = findChromium();
  vi.stubEnv("RLX_CHROMIUM", "/no/such/chromium");
  expect(findChromium()).toBe(usual);
});
