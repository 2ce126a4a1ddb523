/** What a window remembers: a reload, back and forward, a link, another model in between, a restart of the server. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { Page } from "@playwright/test";
import type { ServedWorkbench } from "./serve.ts";
import { serveWorkbench } from "./serve.ts";
import {
  answerOf,
  dropFile,
  engineReady,
  lookAt,
  offered,
  openPath,
  openWindow,
  picture,
  sampleCopy,
  showTab,
  startReady,
  tab,
} from "./workbench.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-e2e-session-"));
const home = join(folder, "home");
let served: ServedWorkbench;
test.beforeAll(async () => {
  served = await serveWorkbench({ RLX_HOME: home });
});
test.afterAll(async () => {
  await served.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(page: Page, text: string): Promise<void> {
  await showTab(page, "Run");
  await page.locator("#composer").fill(text);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Stop", exact: true }).first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toHaveCount(0, { timeout: 30_000 });
}
const talk = (page: Page) => page.getByRole("tabpanel", { name: "Run" });

test("a reload keeps model, tab and conversation; back, forward and a link lead to them", async ({ page }) => {
  const errors = await openWindow(page, await served.address());
  await startReady(page);
  const path = sampleCopy(folder, "first model.gguf");
  await openPath(page, path);
  await ask(page, "What is 7 x 8?");
  const answer = await answerOf(page).first().innerText();
  await expect(page).toHaveURL(/#open=.*first\+model\.gguf&tab=run/);
  await page.reload();
  await engineReady(page);
  await expect(tab(page, "Run")).toHaveAttribute("aria-selected", "true");
  await expect(talk(page).getByText("What is 7 x 8?").first()).toBeVisible();
  expect(await answerOf(page).first().innerText()).toBe(answer);
  await page.goBack();
  await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
  await page.goForward();
  await expect(tab(page, "Run")).toHaveAttribute("aria-selected", "true");
  expect(errors).toEqual([]);
});

test("another model in between, notes, a restart of the server, a file that has moved", async ({ page, browser }) => {
  test.setTimeout(180_000);
  await openWindow(page, await served.address());
  await startReady(page);
  const path = sampleCopy(folder, "kept.gguf");
  await openPath(page, path);
  await ask(page, "What is 3 + 4?");
  const navigator = page.getByRole("navigation", { name: "Structure, passes and advice" });
  await navigator.getByText("Notes", { exact: true }).click();
  await page.getByLabel("Notes about this model").fill("counts well");
  await page.keyboard.press("Control+Shift+w");
  await offered(page, /Header only, 1B/).click();
  await expect(page.getByRole("heading", { name: /1B class/ }).first()).toBeVisible();
  await page.keyboard.press("Control+Shift+w");
  // The list of recent files knows it.
  await page
    .getByRole("button", { name: /kept\.gguf/ })
    .first()
    .click();
  await showTab(page, "Run");
  await expect(talk(page).getByText("What is 3 + 4?").first()).toBeVisible();
  await expect(page.getByLabel("Notes about this model")).toHaveValue("counts well");
  const downloading = page.waitForEvent("download");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("Export the session");
  await page.keyboard.press("Enter");
  await picture(page, "session-export");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const file = join(folder, (await downloading).suggestedFilename());
  expect(file).toMatch(/\.rlxsession$/);
  await (await downloading).saveAs(file);
  expect(readFileSync(file, "utf8")).not.toContain(folder);
  // Saved by itself, a moment after the last change.
  await page.waitForTimeout(1500);
  await page.close();

  // The next day: another server, another browser, and the file lies elsewhere.
  await served.stop();
  served = await serveWorkbench({ RLX_HOME: home });
  renameSync(path, join(folder, "moved.gguf"));
  const next = await (await browser.newContext()).newPage();
  const errors = await openWindow(next, await served.address(), "dark");
  await startReady(next);
  const sessions = next.getByRole("region", { name: "Go on with" });
  expect(await lookAt(next, "session-start-dark")).toEqual([]);
  await sessions
    .getByRole("button", { name: /RLX Sample.*today/ })
    .first()
    .click();
  await expect(next.getByText(/could not be opened where it was/)).toBeVisible();
  mkdirSync(join(folder, "elsewhere"));
  renameSync(join(folder, "moved.gguf"), join(folder, "elsewhere", "kept.gguf"));
  await next.getByLabel("Folder to look in").fill(join(folder, "elsewhere"));
  expect(await lookAt(next, "session-missing-dark")).toEqual([]);
  await next.getByRole("button", { name: "Look for it" }).click();
  await expect(tab(next, "Run")).toHaveAttribute("aria-selected", "true");
  await expect(talk(next).getByText("What is 3 + 4?").first()).toBeVisible();
  await expect(next.getByText(/could not be opened where it was/)).toBeHidden();

  // What was exported is a session of its own: it knows the model by name only.
  await dropFile(next, file);
  await expect(next.getByText(/knows its file by name only/)).toBeVisible();
  await next.getByRole("button", { name: "Look for it" }).click();
  await expect(talk(next).getByText("What is 3 + 4?").first()).toBeVisible();
  // A link leads to the model and the tab.
  const other = await next.context().newPage();
  const link = new URL(await served.address());
  link.hash += `&${new URLSearchParams({ open: join(folder, "elsewhere", "kept.gguf"), tab: "tensors" }).toString()}`;
  await other.goto(link.href);
  await expect(tab(other, "Tensors")).toHaveAttribute("aria-selected", "true");
  expect(errors).toEqual([]);
  await next.context().close();
});
