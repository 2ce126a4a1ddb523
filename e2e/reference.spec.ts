/** Without a native engine: the run tab says beforehand what answers and how slowly, and what only an engine can do is refused. */
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, openPath, openWindow, picture, sampleCopy, showTab } from "./workbench.ts";

const own = ownWorkbench({ environment: { RLX_ADDON: "off" } });

test("the TypeScript reference answers behind a banner, and is not measured", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "slow.gguf"));
  const panel = await showTab(page, "Run");
  const banner = panel.getByRole("note");
  await expect(banner).toContainText(/No native engine was built here.*A token takes [\d.]+–[\d.]+.ms/);
  await page.locator("#composer").fill("Who are you?");
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("article")).toContainText(/tokens? written|t\/s/, { timeout: 60_000 });
  expect(await axeFindings(page)).toEqual([]);
  await picture(page, "run-reference");
  await expect(await showTab(page, "Bench")).toContainText("This cannot be measured here");
  await expect(await showTab(page, "Profile")).toContainText("This cannot be profiled here");
  expect(errors).toEqual([]);
});
