/** An export that takes its time: it shows how far it is, stops when told, and leaves nothing behind. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { writeTinyGguf } from "../main/testing/tinyGguf.ts";
import { ownWorkbench } from "./serve.ts";
import { openPath, openWindow, picture, showTab } from "./workbench.ts";

const own = ownWorkbench();

test("is cancelled in the middle, and begun again", async ({ page }) => {
  test.setTimeout(180_000);
  const model = join(own.folder(), "long.gguf");
  await writeTinyGguf(model, { layers: 96 });
  const out = join(own.folder(), "out");
  mkdirSync(out);
  const errors = await openWindow(page, await own.address());
  await openPath(page, model);
  const panel = await showTab(page, "Export");
  const where = panel.getByLabel("Where to write the package");
  await expect(where).toBeVisible({ timeout: 60_000 });
  await where.fill(join(out, "long.mlpackage"));
  const begin = panel.getByRole("button", { name: "Export", exact: true });
  await begin.click();
  const cancel = panel.getByRole("button", { name: "Cancel", exact: true });
  await expect(cancel).toBeVisible();
  await expect(panel.getByRole("region", { name: "Writing" }).getByRole("status")).not.toContainText("Starting");
  await cancel.click();
  await expect(panel.getByText("Cancelled. Nothing was left behind.")).toBeVisible();
  expect(readdirSync(out)).toEqual([]);

  await expect(begin).toBeEnabled();
  await begin.click();
  await picture(page, "export-running");
  await expect(panel.getByRole("region", { name: "Report" })).toContainText("Written in", { timeout: 60_000 });
  expect(readdirSync(out)).toEqual(["long.mlpackage"]);
  expect(errors).toEqual([]);
});
