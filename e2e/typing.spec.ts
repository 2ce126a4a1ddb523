/** Typing in a graph's text that is long: a key costs the window little. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { allowedFor } from "../main/testing/pace.ts";
import { ownWorkbench } from "./serve.ts";
import { tasksOf } from "./tasks.ts";
import { dropFile, LOOKS, openLook, startReady } from "./workbench.ts";

const own = ownWorkbench();

test("typing in a text of 10 000 lines: a key costs less than 50 ms of the window's thread", async ({ page }) => {
  test.setTimeout(120_000);
  const errors = await openLook(page, await own.address(), LOOKS.usualLight);
  await startReady(page);
  const lines = Array.from({ length: 10_000 }, (_, i) => `  %v${i + 1} = relu(%v${i})`);
  const path = join(own.folder(), "long.rlx");
  writeFileSync(path, `graph "long" {\n  %v0 = input "x" : f32[8]\n${lines.join("\n")}\n  return "y" = %v10000\n}\n`);
  await dropFile(page, path);
  await page.getByRole("tab", { name: "Text" }).click();
  const told = page.getByRole("tabpanel", { name: "Text" }).getByRole("status").first();
  await expect(told).toHaveText("sound, 10\u202f000 operations", { timeout: 30_000 });
  await page.getByRole("textbox", { name: /^Text of/ }).focus();
  const words = "// one or two words more";
  const tasks = await tasksOf(page, async () => {
    for (const key of words) await page.keyboard.press(key, { delay: 20 });
  });
  const all = tasks.reduce((sum, milliseconds) => sum + milliseconds, 0);
  expect(all).toBeGreaterThan(0);
  expect(Math.max(...tasks)).toBeLessThan(50);
  const { ms, sentence } = await allowedFor(all / words.length, 50);
  expect(all / words.length, sentence).toBeLessThan(ms);
  await expect(told).toContainText("not used yet", { timeout: 30_000 });
  expect(errors).toEqual([]);
});
