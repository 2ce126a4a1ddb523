/** The verdict of the overview: it speaks of the chosen phase, and the reason of a target without a prediction is read in whole. */
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { LOOKS, offered, openLook, startReady } from "./workbench.ts";

const own = ownWorkbench();

async function verdictOf(page: Page, offer: RegExp): Promise<Locator> {
  await openLook(page, await own.address(), LOOKS.usualLight);
  await startReady(page);
  await offered(page, offer).click();
  return page.getByRole("region", { name: "Verdict" });
}

test("speaks of a chunk where the subject is prefill", async ({ page }) => {
  const verdict = await verdictOf(page, /^The sample model/);
  const chosen = verdict.getByRole("row").filter({ has: page.getByRole("button", { pressed: true }) });
  await expect(verdict).not.toContainText("prefill");
  await expect(chosen).toContainText(/~\d+\s%/u);
  const ofToken = await chosen.textContent();
  await page.getByRole("radiogroup", { name: "Phase" }).getByText("Prefill").click();
  await expect(verdict).toContainText(/a chunk of \d+ tokens, prefill\. \d+ % of each chunk/u);
  await expect(verdict).toContainText("ANE, GPU and hops are of a chunk");
  await expect(chosen).not.toHaveText(ofToken ?? "");
  // The ribbon says the same share.
  const [, share = "none"] =
    /ANE (\d+)\s%/u.exec(
      (await page
        .getByText(/ANE \d+\s%/u)
        .first()
        .textContent()) ?? "",
    ) ?? [];
  await expect(chosen).toContainText(`~${share}`);
  const speed = page.getByRole("region", { name: "How fast?" });
  await expect(speed.getByRole("table", { name: /^A chunk of \d+ tokens, prefill/ })).toBeVisible();
  await expect(speed.getByRole("table", { name: "One token, decode" })).toBeVisible();
});

test("says in whole why a target has no prediction", async ({ page }) => {
  const verdict = await verdictOf(page, /host segments/);
  const reason = verdict.getByRole("cell").filter({ hasText: "MLX cannot run" });
  await expect(reason).toBeVisible();
  expect(await reason.evaluate((cell) => cell.scrollWidth - cell.clientWidth)).toBeLessThanOrEqual(0);
});
