/** A model is written in smaller types from the window, and the result opened. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { lookAt, openPath, openWindow, sampleCopy } from "./workbench.ts";

const own = ownWorkbench();

test("a smaller GGUF is written and opened", async ({ page }) => {
  const model = sampleCopy(own.folder(), "sample.gguf");
  const errors = await openWindow(page, await own.address(), "dark");
  await openPath(page, model);
  // As the palette leads there.
  await page.keyboard.press("Control+K");
  await page.keyboard.type("quantise");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("tabpanel", { name: "Export" });
  await expect(panel.getByRole("radio", { name: "Smaller GGUF" })).toBeChecked();
  await panel.getByLabel("Recipe").selectOption("iq2_xs");
  await expect(panel.getByText("IQ2_XS needs an importance matrix.")).toBeVisible();
  await panel.getByLabel("Recipe").selectOption("q4_k_m");
  const where = panel.getByLabel("Where to write the file");
  await expect(where).toHaveValue(join(own.folder(), "sample-Q4_K_M.gguf"));
  // A type that is still being typed leaves its field where it is.
  await panel.getByText("Exceptions").click();
  const exceptions = panel.getByLabel(/Other types where a name matches/);
  await exceptions.fill("*ffn_down*=q6");
  await expect(panel.getByText("The file could not be planned")).toBeVisible();
  await exceptions.press("End");
  await exceptions.pressSequentially("_k");
  await expect(where).toBeVisible();
  expect(await lookAt(page, "quantize-plan")).toEqual([]);
  await panel.getByRole("button", { name: "Quantise", exact: true }).click();
  await expect(panel.getByText(/Written in/)).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole("contentinfo")).toContainText("--tensor-type '*ffn_down*=q6_k'");
  expect(await lookAt(page, "quantize-report")).toEqual([]);
  expect(readdirSync(own.folder())).toContain("sample-Q4_K_M.gguf");
  await panel.getByRole("button", { name: "Open it" }).click();
  await expect(page.getByText("Q4_K_M").first()).toBeVisible();
  expect(errors).toEqual([]);
});
