/** The engine is killed while it answers: the window stays, says what was lost, and works again at once. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { allowedNow } from "../main/testing/pace.ts";
import { writeTinyGguf } from "../main/testing/tinyGguf.ts";
import { ownWorkbench } from "./serve.ts";
import { engineReady, openPath, openWindow, picture, showTab } from "./workbench.ts";

const own = ownWorkbench();

/** The server's one child. */
const enginePid = (): number =>
  Number(execFileSync("ps", ["-o", "pid=", "--ppid", String(own.process().pid)], { encoding: "utf8" }).trim());

/**
 * Lets the window note on its body when it was ready again, when the next question was sent, and when that was being answered. The
 * time that Playwright takes to fill in and send the question is not the window's; on a busy machine it is longer than all the rest.
 */
const noteTimes = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const times = document.body.dataset;
    const turns = document.querySelectorAll("article").length;
    const look = (): void => {
      const isBack = [...document.querySelectorAll('[role="alert"]')].some(({ textContent }) =>
        textContent.includes("The engine is back."),
      );
      const now = String(Date.now());
      if (isBack && document.querySelector("footer")?.textContent.includes("Engine ready") === true)
        times["ready"] ??= now;
      const next = document.querySelectorAll("article")[turns];
      if (next !== undefined && /\d\st\/s/.test(next.textContent)) times["writes"] ??= now;
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
    document.addEventListener(
      "click",
      ({ target }) => {
        if (target instanceof Element && target.closest("button")?.textContent === "Send")
          times["sent"] ??= String(Date.now());
      },
      true,
    );
  });

const noted = async (page: Page, name: "ready" | "sent" | "writes"): Promise<number> => {
  const body = page.locator("body");
  await expect(body).toHaveAttribute(`data-${name}`, /^\d+$/);
  return Number(await body.getAttribute(`data-${name}`));
};

// Two seconds are a promise for a machine with time to spare: what is allowed grows with its load, and a bad moment is tried again.
test.describe.configure({ retries: 2 });

test("killed in the middle of a run", async ({ page }) => {
  // Blocks so many and so wide that its tokens take longer than this test, and no more: an engine that starts anew prepares them again.
  const model = join(own.folder(), "slow.gguf");
  await writeTinyGguf(model, { layers: 48, feedForward: 512, endless: true });
  const errors = await openWindow(page, await own.address());
  await openPath(page, model);
  const panel = await showTab(page, "Run");
  await panel.getByText("Text", { exact: true }).click();
  await page.getByRole("button", { name: "Sampling parameters" }).click();
  await page.getByLabel("Max tokens").fill("4000");
  await page.keyboard.press("Escape");
  const composer = panel.getByLabel("Text to continue");
  await composer.fill("Once upon a time");
  await panel.getByRole("button", { name: "Send", exact: true }).click();
  await expect(panel.getByRole("article")).toContainText(/\d\st\/s/);
  await expect(panel.getByRole("button", { name: "Stop", exact: true })).toBeVisible();

  await noteTimes(page);
  const killed = enginePid();
  const at = Date.now();
  process.kill(killed, "SIGKILL");
  const banner = page.getByRole("alert").filter({ hasText: /The engine is (gone|back)/ });
  await expect(banner).toContainText("The engine is back.");
  await engineReady(page);
  // Still the same model, in the same view: it works again when it writes again.
  await panel.getByText("Text", { exact: true }).click();
  await composer.fill("And then");
  const answers = panel.getByRole("article");
  const lost = await answers.count();
  await panel.getByRole("button", { name: "Send", exact: true }).click();
  await expect(answers.nth(lost)).toContainText(/\d\st\/s/);
  const ready = (await noted(page, "ready")) - at;
  const after = ready + (await noted(page, "writes")) - (await noted(page, "sent"));
  const allowed = await allowedNow(2000);
  const description = `ready after ${ready} ms, writes after ${after} ms, ${allowed.sentence}`;
  test.info().annotations.push({ type: "measured", description });
  expect(after, description).toBeLessThan(allowed.ms);
  await expect(banner).toContainText(/Lost: .+/);
  await picture(page, "engine-lost");

  // With a new process behind it.
  expect(enginePid()).not.toBe(killed);
  await panel.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  // What was lost can be asked again from the banner, and from the turn that failed.
  await expect(panel.getByRole("alert")).toContainText("ENGINE_LOST");
  await expect(panel.getByRole("button", { name: "Try again" })).toBeVisible();
  await expect(banner.getByRole("button", { name: "Copy details" })).toBeVisible();
  await expect(banner.getByRole("button", { name: "Understood" })).toBeVisible();
  await banner.getByRole("button", { name: "Ask again" }).click();
  await expect(banner).toBeHidden();
  await expect(panel.getByRole("article").last()).toContainText("Once upon a time");
  await expect(panel.getByRole("article").last()).toContainText(/\d\st\/s/);
  await page.keyboard.press("Escape");
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  expect(errors).toEqual([]);
});
