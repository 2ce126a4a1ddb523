/** Two files compared in the window: words first, routes, an op shown in the graph; then a report as a page of its own. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";
import type { Page } from "@playwright/test";
import { writeTinyGguf } from "../main/testing/tinyGguf.ts";
import { ownWorkbench } from "./serve.ts";
import {
  LOOKS,
  lookAt,
  openLook,
  openPath,
  openWindow,
  sampleCopy,
  showTab,
  startReady,
  station,
  tab,
} from "./workbench.ts";

const own = ownWorkbench();

async function savedPage(page: Page, press: () => Promise<void>): Promise<string> {
  const coming = page.waitForEvent("download");
  await press();
  const path = join(own.folder(), (await coming).suggestedFilename());
  await (await coming).saveAs(path);
  return path;
}

test("compares with another file and another target, and saves pages", async ({ page }) => {
  test.setTimeout(120_000);
  const [sample, tiny] = [sampleCopy(own.folder(), "story-teller.gguf"), join(own.folder(), "tiny.gguf")];
  await writeTinyGguf(tiny);
  const errors = await openWindow(page, await own.address());
  await openPath(page, sample);
  await page.keyboard.press("Control+Shift+D");
  await expect(tab(page, "Compare")).toHaveAttribute("aria-selected", "true");
  const panel = page.getByRole("tabpanel", { name: "Compare" });
  const words = panel.getByRole("region", { name: "In words" });
  const what = panel.getByLabel("What B is");
  // Without another file, the same model stands on the best other target.
  await expect(words).toContainText("Both are the same file", { timeout: 30_000 });
  await what.selectOption({ label: "Another file…" });
  await panel.getByLabel(/^Path of a model/u).fill(tiny);
  await page.keyboard.press("Enter");
  await expect(what.locator("option:checked")).toHaveText("tiny.gguf");
  await expect(panel.getByRole("region", { name: "Keys that differ" })).toContainText("general.name", {
    timeout: 30_000,
  });
  await expect(words).toContainText("is predicted to take");
  // Back to one model, on another target.
  await what.selectOption({ index: 0 });
  await panel.getByLabel("What B runs on").selectOption({ label: "Core ML, all units" });
  await expect(words).toContainText("Both are the same file", { timeout: 30_000 });
  await expect(panel.getByRole("img", { name: /^Route of B/u })).toBeVisible();
  expect(await station(page, "compare")).toEqual([]);
  await panel.getByRole("button", { name: "Swap the sides" }).click();
  await expect(words.getByRole("listitem").first()).toContainText("A is predicted to take");
  const diff = await savedPage(page, () => panel.getByRole("button", { name: "Save as HTML…" }).click());
  expect(readFileSync(diff, "utf8")).toContain("A is predicted to take");
  await panel.getByRole("region", { name: "Ops that run elsewhere" }).getByRole("button").first().click();
  await expect(tab(page, "Graph")).toHaveAttribute("aria-selected", "true");

  await showTab(page, "Overview");
  await page.keyboard.press("Control+Shift+S");
  const dialog = page.getByRole("dialog", { name: "Save a report" });
  await expect(dialog.getByLabel("No conversation")).toBeDisabled();
  const report = await savedPage(page, () => dialog.getByRole("button", { name: "Save", exact: true }).click());
  expect(errors).toEqual([]);

  // The page by itself: nothing is asked for, and both looks can be read.
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(pathToFileURL(report).href);
    await expect(page.getByRole("heading", { name: "What runs where" })).toBeVisible();
    expect(await lookAt(page, `report-${theme}`)).toEqual([]);
  }
  expect(asked.every((url) => url.startsWith("file:"))).toBe(true);
  expect(asked).toHaveLength(2);
});

test("finds the faster of two files from the first screen", async ({ page }) => {
  test.setTimeout(120_000);
  const [slow, fast] = [join(own.folder(), "one.gguf"), join(own.folder(), "two.gguf")];
  await writeTinyGguf(slow);
  await writeTinyGguf(fast);
  await openLook(page, await own.address(), LOOKS.leastDark);
  for (const path of [slow, fast]) {
    await openPath(page, path);
    await page.keyboard.press("Control+Shift+W");
  }
  await startReady(page);
  await page.getByRole("button", { name: "Find the faster of two files…" }).click();
  const dialog = page.getByRole("dialog", { name: "Which of two files is faster here?" });
  const measure = dialog.getByRole("button", { name: "Measure both" });
  await expect(measure).toBeDisabled();
  await dialog.getByRole("checkbox", { name: /one\.gguf/u }).check();
  await dialog.getByRole("checkbox", { name: /two\.gguf/u }).check();
  expect(await lookAt(page, "faster-of-two")).toEqual([]);
  await measure.click();
  // It begins by itself, on a runtime that is here, and says what was measured before anything that is predicted.
  const panel = page.getByRole("tabpanel", { name: "Compare" });
  await expect(panel.getByLabel("What A runs on").locator("option:checked")).toHaveText("CPU");
  const said = panel.getByRole("region", { name: "In words" }).getByRole("listitem");
  const anyway = panel.getByRole("button", { name: "Measure anyway" });
  await expect(said.filter({ hasText: "measured:" }).or(anyway).first()).toBeVisible({ timeout: 60_000 });
  if (await anyway.isVisible()) await anyway.click();
  await expect(said.filter({ hasText: /measured: A [\d.]+ t\/s, B [\d.]+ t\/s/u })).toBeVisible({ timeout: 60_000 });
  await expect(panel.getByRole("heading", { name: "Measured" })).toBeInViewport();
  // On a runtime that is not here nothing is measured, and one press puts both on one that is.
  await panel.getByLabel("What A runs on").selectOption({ label: "Core ML, all units" });
  await expect(panel.getByRole("button", { name: "Measure both in turn" })).toBeDisabled({ timeout: 30_000 });
  const here = panel.getByRole("button", { name: "Measure both on CPU here" });
  await expect(here).toBeEnabled({ timeout: 30_000 });
  const numbers = said.filter({ hasText: "measured:" });
  await expect(numbers).toHaveCount(0);
  await here.click();
  await expect(panel.getByLabel("What A runs on").locator("option:checked")).toHaveText("CPU");
  await expect(numbers.or(anyway).first()).toBeVisible({ timeout: 60_000 });
  await expect(here).toHaveCount(0);
});

test("offers to measure the two models of a folder", async ({ page }) => {
  test.setTimeout(90_000);
  const pair = join(own.folder(), "pair");
  mkdirSync(pair);
  const [first, other] = [join(pair, "left.gguf"), join(pair, "right.gguf")];
  await writeTinyGguf(first);
  await writeTinyGguf(other);
  await openLook(page, await own.address(), LOOKS.leastLight);
  await startReady(page);
  await page.getByRole("button", { name: "Paste a path" }).click();
  await page.getByLabel(/Path of a GGUF/).fill(pair);
  await page.keyboard.press("Enter");
  const offer = page.getByRole("button", { name: "Which of the two is faster here?" });
  await expect(offer).toBeVisible();
  expect(await lookAt(page, "offer-of-two")).toEqual([]);
  await offer.click();
  const panel = page.getByRole("tabpanel", { name: "Compare" });
  await expect(panel.getByLabel("What A runs on").locator("option:checked")).toHaveText("CPU", { timeout: 30_000 });
  await expect(panel.getByLabel("What B is").locator("option:checked")).toHaveText("right.gguf");
  const numbers = panel
    .getByRole("region", { name: "In words" })
    .getByRole("listitem")
    .filter({ hasText: "measured:" });
  const anyway = panel.getByRole("button", { name: "Measure anyway" });
  await expect(numbers.or(anyway).first()).toBeVisible({ timeout: 60_000 });
});
