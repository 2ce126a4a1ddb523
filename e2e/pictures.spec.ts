/**
 * The pictures of the README, taken again: `PICTURES=1 npx playwright test -c e2e/playwright.config.ts --project=pictures`. No suite does so
 * by itself. They show times: take them while the machine does nothing else, of a fresh build, and look at them.
 */
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench, root } from "./serve.ts";
import { offered, openWindow, showTab, startReady } from "./workbench.ts";

const own = ownWorkbench();

for (const theme of ["light", "dark"] as const)
  test(`the pictures of the README, ${theme}`, async ({ page }) => {
    await openWindow(page, await own.address(), theme);
    const take = async (name: string): Promise<void> => {
      // Nothing under the pointer, and what fades has faded.
      await page.mouse.move(720, 1);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(root, "docs", "images", `${name}-${theme}.png`) });
    };
    await open(page, /^The sample model/);
    await expect(page.getByRole("region", { name: "As a Core ML package" })).toContainText(/Q8_0 to fp16: \d/);
    await take("overview");
    await record(page);
    await take("profile");
    await chat(page);
    await take("run");
    await page.keyboard.press("Control+Shift+W");
    await open(page, /Header only, 1B/);
    await openBlock(page);
    await take("graph");
  });

async function open(page: Page, offer: RegExp): Promise<void> {
  await startReady(page);
  await offered(page, offer).click();
  await expect(page.getByText("of predicted time").first()).toBeVisible();
}

/** The second recording: the first also shows how a model gets warm. */
async function record(page: Page): Promise<void> {
  const panel = await showTab(page, "Profile");
  await panel.getByRole("button", { name: "Record", exact: true }).click();
  const again = panel.getByRole("button", { name: "Record again" });
  await again.click();
  await expect(again).toBeEnabled();
  await expect(panel.getByRole("region", { name: "By operation, table" })).toContainText("linear");
}

/** The seed makes the same story each time. */
async function chat(page: Page): Promise<void> {
  const panel = await showTab(page, "Run");
  await panel.getByLabel("Seed", { exact: true }).fill("7");
  for (const message of ["What is 7 x 8?", "Tell me a story."]) {
    await panel.getByLabel("Your message").fill(message);
    await page.keyboard.press("Enter");
    await expect(panel.getByRole("article").filter({ hasText: message })).toContainText("ended its answer");
  }
  await page.getByLabel("shade tokens by uncertainty").check();
}

async function openBlock(page: Page): Promise<void> {
  await showTab(page, "Graph");
  await page.locator(".react-flow__node").filter({ hasText: "block 0" }).first().dblclick();
  await expect(page.getByRole("button", { name: /^Fold block/ })).toBeAttached();
}
