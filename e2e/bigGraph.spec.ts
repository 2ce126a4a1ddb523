/**
 * A real graph of more than 10 000 ops in the window. What is asserted here is structure: how many elements there are, however
 * much of the graph is shown. Times are measured by bench/window.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import type { ServedWorkbench } from "./serve.ts";
import { serveWorkbench } from "./serve.ts";
import { openWindow, picture, showTab } from "./workbench.ts";

/** Of reference: cards near enough to be elements, and all elements of the page. */
const MOST_CARDS = 250;
const MOST_ELEMENTS = 3500;

let folder: string;
let served: ServedWorkbench;
test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "big-"));
  served = await serveWorkbench({ RLX_HOME: join(folder, "home") });
});
test.afterAll(async () => {
  await served.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function expectFew(page: Page, what: string): Promise<void> {
  const [elements, cards] = await page.evaluate(() => [
    document.querySelectorAll("*").length,
    document.querySelectorAll(".react-flow__node").length,
  ]);
  expect(elements, `elements, ${what}`).toBeLessThanOrEqual(MOST_ELEMENTS);
  expect(cards, `cards, ${what}`).toBeLessThanOrEqual(MOST_CARDS);
}

test("400 blocks fold, open, are walked and searched within the budget of elements", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openWindow(page, served.url);
  await page.getByRole("button", { name: /400 blocks/ }).click();
  await showTab(page, "Graph");
  const cards = page.locator(".react-flow__node");
  await expect(cards.first()).toBeVisible({ timeout: 60_000 });
  expect(await cards.count()).toBeLessThan(60);
  await expectFew(page, "folded");
  await picture(page, "big-folded");

  const canvas = page.locator("[data-graph-canvas]");
  await canvas.focus();
  await page.keyboard.press("Shift+E");
  await page.waitForTimeout(3000);
  await expectFew(page, "every op shown");
  await picture(page, "big-everything");

  const box = await canvas.boundingBox();
  if (box === null) throw new Error("the canvas has no box");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let step = 0; step < 20; step++) {
    await page.mouse.wheel(0, step % 2 === 0 ? 300 : -200);
    await expectFew(page, `panned ${step}`);
  }
  for (const mode of ["Segment", "Time", "Bytes", "Type", "Device"]) {
    await page.getByText(mode, { exact: true }).click();
    await expectFew(page, `coloured by ${mode}`);
  }

  await page.getByLabel("Search the graph").fill("op:attention layer:399");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Why here?")).toBeVisible();
  await expectFew(page, "a hit found");
  await picture(page, "big-hit");

  // The tree and the table of tensors are windows onto long lists, too.
  await showTab(page, "Tensors");
  await expectFew(page, "tensors");
  expect(errors).toEqual([]);
});
