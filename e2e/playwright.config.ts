/**
 * The window in a Chromium of this machine over `rlx serve`, and the same app in Electron where its binary exists. Screenshots of the
 * journey are kept in e2e/screenshots for a person to look at.
 */
import { defineConfig } from "@playwright/test";
import { findChromium } from "../scripts/lib/environment.mjs";
import { isCi } from "../scripts/lib/process.mjs";

const chromium = findChromium();
const TIMED = ["engineLoss.spec.ts", "typing.spec.ts"];

export default defineConfig({
  testDir: ".",
  timeout: 90_000,
  expect: { timeout: 15_000 },
  fullyParallel: false,
  // A spec waits for its engine and its page about half of the time.
  workers: 2,
  retries: 0,
  // Or a `test.only` that was left behind makes the suite small and green.
  forbidOnly: isCi,
  reporter: isCi ? [["list"], ["json", { outputFile: "../test-results/e2e.json" }]] : [["list"]],
  outputDir: "../test-results/e2e",
  use: {
    launchOptions: {
      ...(chromium === undefined ? {} : { executablePath: chromium }),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    },
    // Without one, an element that never comes costs the whole test's time.
    actionTimeout: 15_000,
    viewport: { width: 1440, height: 900 },
    // A recording of every step would cost a quarter of the suite's time: `--trace on` makes one of a test that failed.
    trace: "off",
    screenshot: "only-on-failure",
  },
  projects: [
    { name: "chromium", testIgnore: ["electron/**", "pictures.spec.ts", ...TIMED] },
    // Behind all others, and one by one: they hold the window to times.
    { name: "timed", testMatch: TIMED, workers: 1, dependencies: ["chromium"] },
    { name: "electron", testMatch: "electron/**/*.spec.ts" },
    // Writes over the README's pictures: only when asked for.
    ...(process.env["PICTURES"] === "1" ? [{ name: "pictures", testMatch: "pictures.spec.ts" }] : []),
  ],
});
