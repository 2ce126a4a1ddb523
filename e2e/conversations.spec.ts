/** Conversations by keys: system prompt, edit, versions, branch, rename, delete and undo, attachments, a reload, a file for others. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, dropFile, openPath, openWindow, picture, sampleCopy, showTab } from "./workbench.ts";

const own = ownWorkbench();

const idle = (page: Page): Promise<void> =>
  expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 60_000 });

async function say(page: Page, text: string): Promise<void> {
  await page.locator("#composer").focus();
  await page.keyboard.insertText(text);
  await page.keyboard.press("Enter");
  await idle(page);
}

const press = async (page: Page, name: RegExp | string, turn: number): Promise<void> => {
  await page.getByRole("article").nth(turn).getByRole("button", { name }).focus();
  await page.keyboard.press("Enter");
};

test("conversations are kept, gone on with otherwise, found again and handed on", async ({ page }) => {
  test.setTimeout(180_000);
  await page.setViewportSize({ width: 1440, height: 900 });
  const errors = await openWindow(page, await own.address(), "dark");
  await openPath(page, sampleCopy(own.folder(), "talks.gguf"));
  const panel = await showTab(page, "Run");
  const list = page.getByRole("region", { name: "Conversations" });
  const rows = list.getByRole("listitem");
  await expect(rows).toHaveText(["New conversation"]);
  // Neither says anything about a run.
  await expect(page.getByRole("tree")).toBeHidden();
  await expect(page.getByRole("button", { name: "Structure" })).toHaveAttribute("aria-expanded", "false");

  await panel.getByRole("button", { name: "System prompt" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.insertText("You tell short stories.");
  await say(page, "What is 7 x 8?");
  await say(page, "Tell me a story.");
  await expect(rows.first()).toContainText(/What is 7 x 8\?.*\d\d:\d\d/);

  await press(page, /^Edit the question/, 0);
  await expect(panel.getByLabel("Edit the question", { exact: true })).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("What is 3 + 4?");
  await page.keyboard.press("Enter");
  await idle(page);
  const turns = panel.getByRole("article");
  await expect(turns).toHaveCount(1);
  await press(page, "Previous version", 0);
  await expect(turns).toHaveCount(2);
  await expect(turns.first()).toContainText("What is 7 x 8?");
  await expect(turns.first().getByRole("img", { name: "Version 1 of 2" })).toBeVisible();
  await press(page, "Regenerate", 1);
  await idle(page);
  await expect(turns.nth(1).getByRole("img", { name: "Version 2 of 2" })).toBeVisible();
  // The edited question has a cache of its own: what stood before this one, the system prompt among it, was not read again.
  await expect(turns.nth(1)).toContainText(/, \d+ reused|reused \d+, recomputed \d+, because/);
  await picture(page, "conversations-dark");
  expect(await axeFindings(page)).toEqual([]);

  await press(page, /^Branch/, 0);
  await expect(rows).toHaveCount(2);
  await expect(turns).toHaveCount(1);
  await press(page, "Delete this turn", 0);
  await expect(turns).toHaveCount(0);
  await panel.getByRole("button", { name: "Undo" }).focus();
  await page.keyboard.press("Enter");
  await expect(turns).toHaveCount(1);

  await list.getByRole("button", { name: /^Branch of/ }).focus();
  await page.keyboard.press("F2");
  await page.keyboard.insertText("Sums");
  await page.keyboard.press("Enter");
  await expect(rows.first()).toContainText("Sums");
  await expect(list.getByRole("button", { name: /^Sums/ })).toBeFocused();
  await page.keyboard.press("Delete");
  await expect(rows).toHaveCount(1);
  await list.getByRole("button", { name: "Undo" }).focus();
  await page.keyboard.press("Enter");
  await expect(rows).toHaveCount(2);
  await page.keyboard.press("Control+f");
  await page.keyboard.insertText("story");
  await expect(rows).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(rows).toHaveCount(2);

  // Text goes with the question; what is no text says what it is.
  await list.getByRole("button", { name: "New conversation" }).click();
  writeFileSync(join(own.folder(), "notes.txt"), "The dog is called Otto.\n");
  writeFileSync(join(own.folder(), "paper.pdf"), "%PDF-1.7\n");
  const field = await page.locator("#composer").boundingBox();
  const at = { x: Math.round(field?.x ?? 0) + 40, y: Math.round(field?.y ?? 0) + 8 };
  await dropFile(page, join(own.folder(), "notes.txt"), at);
  await expect(panel.getByRole("list", { name: "Attached files" })).toContainText(/notes\.txt\s*24.B/);
  await dropFile(page, join(own.folder(), "paper.pdf"), at);
  await expect(page.getByRole("alert")).toContainText("The file paper.pdf: got a PDF, expected text.");
  await picture(page, "conversations-refused");
  await page.getByRole("alert").getByRole("button", { name: "Dismiss" }).click();
  // As tall as the wrapped text, to a third of the window.
  const heightOf = async (): Promise<number> => (await page.locator("#composer").boundingBox())?.height ?? 0;
  const line = await heightOf();
  await page.locator("#composer").fill("What is the name of the dog in these notes? ".repeat(6));
  expect(await heightOf()).toBeGreaterThan(2.5 * line);
  await page.locator("#composer").fill("What is the name of the dog in these notes? ".repeat(100));
  expect(await heightOf()).toBeLessThanOrEqual(0.34 * 900);
  await page.locator("#composer").fill("");
  await say(page, "What is the name of the dog?");
  await expect(turns.first()).toContainText("notes.txt");
  await expect(panel.getByText("The model ended its answer.").or(panel.getByText("limit of tokens"))).toBeVisible();

  const menu = panel.getByRole("button", { name: /^Conversation/ });
  await menu.click();
  await picture(page, "conversations-menu");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as Markdown" }).click();
  const saved = readFileSync(await (await download).path(), "utf8");
  expect(saved).toContain("## System\n\nYou tell short stories.");
  expect(saved).toContain("--- File: notes.txt ---\nThe dog is called Otto.\n--- End of notes.txt ---");
  await page.keyboard.press("Escape");

  // Saved by itself, a moment after the last change.
  await page.waitForTimeout(1500);
  await page.setViewportSize({ width: 1000, height: 640 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.addInitScript(() => localStorage.setItem("rlx.theme", "light"));
  await page.reload();
  await expect(rows).toHaveCount(3);
  await list.getByRole("button", { name: /^What is 7 x 8/ }).click();
  await expect(turns).toHaveCount(2);
  await expect(turns.nth(1).getByRole("img", { name: "Version 2 of 2" })).toBeVisible();
  await picture(page, "conversations-light-1000");
  expect(await axeFindings(page)).toEqual([]);
  expect(errors).toEqual([]);
});
