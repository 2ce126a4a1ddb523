/** Recordings: a part of the timeline is selected by pointer and by keys, the tables follow, two are compared, files go out and in. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { openPath, openWindow, picture, sampleCopy, showTab, station } from "./workbench.ts";

const own = ownWorkbench();

test("two recordings are made, looked into, compared, and kept as files", async ({ page }) => {
  test.setTimeout(180_000);
  await page.setViewportSize({ width: 1440, height: 900 });
  const errors = await openWindow(page, await own.address(), "light");
  await openPath(page, sampleCopy(own.folder(), "profile.gguf"));
  const panel = await showTab(page, "Profile");
  await panel.getByRole("button", { name: "Record", exact: true }).click();
  const timeline = panel.getByRole("application");
  await expect(timeline).toBeVisible({ timeout: 60_000 });
  const again = panel.getByRole("button", { name: "Record again" });
  await again.click();
  const shown = panel.getByRole("combobox", { name: /^Shown/ });
  await expect(shown.locator("option")).toHaveCount(2, { timeout: 60_000 });
  await expect(again).toBeEnabled();

  // A drag selects time and lanes, and the table has its sums; a click lets go of it.
  const canvas = timeline.locator("canvas").first();
  const box = (await canvas.boundingBox())!;
  expect(box.height).toBeGreaterThanOrEqual(240);
  await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 110, { steps: 4 });
  await page.mouse.up();
  const selection = panel.getByRole("status", { name: "Selection" });
  await expect(selection).toContainText(/count \d.* · sum .* · mean .* · min .* · max /);
  const table = panel.getByRole("region", { name: "By operation, table" });
  await expect(table.getByRole("columnheader", { name: "mean" })).toBeVisible();
  await picture(page, "profile-selection");

  // The same by keys, and Escape.
  await timeline.focus();
  await page.keyboard.press("Escape");
  await expect(selection).toBeHidden();
  // The slowest step is chosen at first. It may be the last one, which has none to its right.
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  await expect(selection).toContainText("2 steps");
  await page.keyboard.press("Escape");
  for (const key of ["0", "w", "+", "d", "s", "a", "-"]) await page.keyboard.press(key);

  // From an op to its layers and their instructions.
  await panel.getByRole("radio", { name: "Bottom-up" }).click();
  await table.getByRole("button", { name: "Layers and instructions of linear_block" }).click();
  await expect(table.getByRole("row", { name: /block 0/ })).toBeVisible();
  await panel.getByRole("radio", { name: "By layer" }).click();
  await table.getByRole("button", { name: "layer" }).click();
  await expect(table.getByRole("columnheader", { name: "layer" })).toHaveAttribute("aria-sort", "ascending");

  // Beside each other on one axis, with what changed.
  await panel.getByRole("combobox", { name: /^Compare/ }).selectOption({ index: 1 });
  await expect(timeline.locator("canvas")).toHaveCount(2);
  await expect(panel).toContainText(/A token of the second takes .* instead of .* The largest change is /);
  await expect(panel.getByRole("region", { name: "Differences by operation" })).toContainText("linear_block");
  expect(await station(page, "profile-compared")).toEqual([]);

  // Files: a recording comes back as one to compare with; the trace is an archive of both.
  const files = panel.getByRole("button", { name: "Files of recordings" });
  await files.click();
  const menu = page.getByRole("dialog", { name: "Files of recordings" });
  const download = async (row: number): Promise<string> => {
    const started = page.waitForEvent("download");
    await menu.getByRole("button", { name: "Save", exact: true }).nth(row).click();
    const file = await started;
    const path = join(own.folder(), file.suggestedFilename());
    await file.saveAs(path);
    return path;
  };
  const recording = await download(0);
  expect(recording).toMatch(/\.rlxtrace$/);
  expect((await readFile(await download(1))).subarray(0, 52).toString("latin1")).toMatch(
    /^PK.*perfetto_manifest\.json/s,
  );
  await menu.getByLabel("Open a recording").setInputFiles(recording);
  await page.keyboard.press("Escape");
  await expect(shown.locator("option")).toHaveCount(3);
  await expect(panel).toContainText("in both: nothing changed");
  expect(errors).toEqual([]);
});
