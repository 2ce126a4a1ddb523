/** The panes beside the view: resized by keys and by the mouse, remembered, put back by a double click, never in the way. */
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, openPath, openWindow, picture, sampleCopy, showTab, tab } from "./workbench.ts";

const own = ownWorkbench();

const edge = (page: Page, name: string): Locator => page.getByRole("separator", { name });
async function width(part: Locator): Promise<number> {
  return Math.round((await part.boundingBox())?.width ?? 0);
}

test("panes are resized, remembered and put back", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "panes.gguf"));
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  const navigator = page.getByRole("navigation", { name: "Structure, passes and advice" });
  const standard = await width(inspector);
  expect(standard).toBeGreaterThan(280);

  await edge(page, "Width of the inspector").focus();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => width(inspector)).toBeGreaterThan(standard);
  const wider = await width(inspector);

  const box = await edge(page, "Width of the navigator").boundingBox();
  const before = await width(navigator);
  await page.mouse.move(box?.x ?? 0, 400);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 60, 400, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => width(navigator)).toBeGreaterThan(before + 50);

  // The session opens its model again by itself.
  await page.reload();
  await expect(tab(page, "Overview")).toBeVisible();
  await expect.poll(() => width(inspector)).toBe(wider);
  expect(await width(navigator)).toBeGreaterThan(before + 50);

  await edge(page, "Width of the inspector").dblclick();
  await expect.poll(() => width(inspector)).toBe(standard);
  await edge(page, "Width of the navigator").focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => width(navigator)).toBe(before);
  expect(errors).toEqual([]);
});

test("panes that nobody touched follow the window", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "follow.gguf"));
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  const wide = await width(inspector);
  await page.setViewportSize({ width: 1000, height: 640 });
  await expect.poll(() => width(inspector)).toBeLessThan(wide - 40);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect.poll(() => width(inspector)).toBe(wide);
});

test("a small window keeps room for the view, and the log holds what was done", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "small.gguf"));
  for (const name of ["Width of the inspector", "Width of the navigator"]) {
    await edge(page, name).focus();
    await page.keyboard.press(name.endsWith("inspector") ? "Home" : "End");
    await page.keyboard.press(name.endsWith("inspector") ? "ArrowLeft" : "ArrowRight");
  }
  await page.setViewportSize({ width: 1000, height: 640 });
  await expect.poll(() => width(page.getByRole("main"))).toBeGreaterThanOrEqual(518);
  const [scroll, client] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(scroll).toBeLessThanOrEqual(client ?? 0);

  await page.keyboard.press("Control+J");
  const log = page.getByRole("region", { name: "Log" });
  await expect(log).toContainText("rlx inspect");
  const tall = (await log.boundingBox())?.height ?? 0;
  await edge(page, "Height of the log").focus();
  await page.keyboard.press("ArrowUp");
  await expect.poll(async () => (await log.boundingBox())?.height ?? 0).toBeGreaterThan(tall);
  await showTab(page, "Run");
  await expect(page.locator("#composer")).toBeInViewport();
  await picture(page, "panes-log-1000");
  expect(await axeFindings(page)).toEqual([]);

  // What is copied is said once, by the region beside the button, whose own name stays.
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const copy = log.getByRole("button", { name: "Copy all" });
  await copy.click();
  await expect(copy).toHaveText(/Copied/);
  const spoken = await log.ariaSnapshot();
  expect(spoken.match(/Copied/g)).toHaveLength(1);
  expect(spoken).toContain('- button "Copy all"\n');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("rlx inspect");
  await log.getByRole("button", { name: "Close the log" }).click();
  await expect(log).toBeHidden();
  expect(errors).toEqual([]);
});
