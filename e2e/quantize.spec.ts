/** A model is written in smaller types from the window, and the result opened; the panel in both themes. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { ServedWorkbench } from "./serve.ts";
import { serveWorkbench } from "./serve.ts";
import { openPath, openWindow, picture, sampleCopy, showTab } from "./workbench.ts";

let folder: string;
let served: ServedWorkbench;
test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "quantize-"));
  served = await serveWorkbench({ RLX_HOME: join(folder, "home") });
});
test.afterAll(async () => {
  await served.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const theme of ["light", "dark"] as const)
  test(`a smaller GGUF is written and opened, ${theme}`, async ({ page }) => {
    const model = sampleCopy(folder, `${theme}.gguf`);
    const errors = await openWindow(page, await served.address(), theme);
    await openPath(page, model);
    const panel = await showTab(page, "Export");
    await panel.getByRole("radio", { name: "Smaller GGUF" }).click();
    await panel.getByLabel("Recipe").selectOption("iq2_xs");
    await expect(panel.getByText("IQ2_XS needs an importance matrix.")).toBeVisible();
    await panel.getByLabel("Recipe").selectOption("q4_k_m");
    const where = panel.getByLabel("Where to write the file");
    await expect(where).toHaveValue(join(folder, `${theme}-Q4_K_M.gguf`));
    await picture(page, `quantize-plan-${theme}`);
    await panel.getByRole("button", { name: "Quantise", exact: true }).click();
    await expect(panel.getByText(/Written in/)).toBeVisible({ timeout: 60_000 });
    await picture(page, `quantize-report-${theme}`);
    expect(readdirSync(folder)).toContain(`${theme}-Q4_K_M.gguf`);
    await panel.getByRole("button", { name: "Open it" }).click();
    await expect(page.getByText("Q4_K_M").first()).toBeVisible();
    expect(errors).toEqual([]);
  });
