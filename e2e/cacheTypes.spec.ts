/** The type of keys and values: its memory in "Will it fit?", the device that has it where the subject has not, and a benchmark with it. */
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { LOOKS, openLook, openPath, sampleCopy, showTab } from "./workbench.ts";

const own = ownWorkbench();

test("is forecast for the device that has it, and measured", async ({ page }) => {
  test.setTimeout(90_000);
  await openLook(page, await own.address(), LOOKS.usualDark);
  await openPath(page, sampleCopy(own.folder(), "cached.gguf"));
  const panel = page.getByRole("tabpanel");
  const kept = panel.getByLabel("Keys and values");
  await expect(kept).toBeVisible({ timeout: 30_000 });
  await kept.selectOption("q4_0");
  await expect(
    panel.getByText(/Core ML keeps keys and values in a type of its own.*Only CPU keeps them in q4_0/u),
  ).toContainText(/MB together there/u, { timeout: 30_000 });
  // With the CPU as the subject the sum itself changes: 18 bytes for 32 numbers.
  await panel.getByRole("button", { name: "CPU", exact: true }).click();
  await expect(panel.getByText(/KV cache.*× 0\.5625/u)).toBeVisible({ timeout: 30_000 });
  await showTab(page, "Bench");
  await panel.getByLabel("Cache").selectOption("q4_0");
  await panel.getByLabel("Prompt tokens").fill("8");
  await panel.getByLabel("Generated tokens").fill("4");
  await panel.getByRole("button", { name: "Measure", exact: true }).click();
  await expect(panel.getByText(/Bench 1/u).first()).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText(/--cache-type q4_0/u).first()).toBeAttached();
});
