/**
 * A LoRA of the sample from the window to its end: it learns a text of 20 kB, its validation loss falls, the adapter answers over
 * its model, and the file that is merged is dropped on the window and answers by itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench, root } from "./serve.ts";
import {
  answerOf,
  dropFile,
  eightTokens,
  lookAt,
  openLook,
  openPath,
  LOOKS,
  sampleCopy,
  showTab,
  tab,
} from "./workbench.ts";

/** Two runs of twelve steps, each of 16 windows of 16 tokens. */
const SETTINGS = { Steps: "12", Batch: "16", "Learning rate": "0.01", Context: "16" } as const;
const TEXT_BYTES = 20_000;
/** How a part of the text begins. */
const PROMPT = "The library";

const own = ownWorkbench({
  prepare: (folder) => {
    const text = readFileSync(join(root, "docs", "library.md")).subarray(0, TEXT_BYTES);
    writeFileSync(join(folder, "learned.txt"), text.toString("utf8"));
  },
});

/** What the model goes on with, always the likeliest. */
async function answerIn(page: Page, text: string): Promise<string> {
  const panel = await eightTokens(page);
  await panel.getByLabel("Temperature").fill("0");
  await panel.getByLabel("Text to continue").fill(text);
  await panel.getByRole("button", { name: "Send", exact: true }).click();
  const turn = panel.getByRole("article").last();
  await expect(turn).toContainText(/\d\st\/s/u);
  await expect(turn.getByRole("alert")).toHaveCount(0);
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  return answerOf(turn).innerText();
}

test("a LoRA learns a text, answers over its model, and answers from the merged file", async ({ page }) => {
  // Two trainings and three answers: minutes on a machine that does other work too.
  test.setTimeout(240_000);
  const errors = await openLook(page, await own.address(), LOOKS.usualDark);
  await openPath(page, sampleCopy(own.folder(), "sample.gguf"));
  const plain = await answerIn(page, PROMPT);
  const panel = await showTab(page, "Train");
  const form = panel.getByRole("region", { name: "A new run" });
  await form.getByRole("radio", { name: /^LoRA/u }).check();
  await form.getByLabel("Data", { exact: true }).fill(join(own.folder(), "learned.txt"));
  for (const [label, value] of Object.entries(SETTINGS)) await form.getByLabel(label, { exact: true }).fill(value);
  await form.getByText("More settings").click();
  await form.getByLabel("Validate every", { exact: true }).fill("3");
  await form.getByLabel("Write every", { exact: true }).fill("0");
  await form.getByLabel("To", { exact: true }).fill(join(own.folder(), "adapter.gguf"));
  await expect(form.getByRole("status")).toContainText("of them for validation", { timeout: 60_000 });
  await form.getByRole("button", { name: "Start" }).click();

  const trained = panel.getByRole("region", { name: /^Trained/u });
  await expect(trained).toBeVisible({ timeout: 60_000 });
  const chart = trained.getByRole("slider", { name: "Loss by step" });
  /** What the chart says of the first or the last look at what is not trained on. */
  const validationAt = async (key: "Home" | "End"): Promise<number> => {
    await chart.press(key);
    return Number(/validation ([\d.]+)/u.exec((await chart.getAttribute("aria-valuetext")) ?? "")?.[1]);
  };
  const [first, last] = [await validationAt("Home"), await validationAt("End")];
  expect(last, `validation loss ${first} at first`).toBeLessThan(0.95 * first);
  expect(await lookAt(page, "train-lora")).toEqual([]);
  await trained.getByRole("button", { name: "Open with its model" }).click();
  await expect(tab(page, "Run")).toHaveAttribute("aria-selected", "true");
  const adapted = await answerIn(page, PROMPT);
  expect(adapted).not.toBe(plain);

  // The same run once more, merged into the weights.
  await showTab(page, "Train");
  await trained.getByRole("button", { name: "Train again" }).click();
  await form.getByLabel("Merge").selectOption("f32");
  await form.getByLabel("To", { exact: true }).fill(join(own.folder(), "merged.gguf"));
  await form.getByRole("button", { name: "Start" }).click();
  await expect(trained.getByText("merged.gguf", { exact: true })).toBeVisible({ timeout: 60_000 });
  expect(await validationAt("End")).toBe(last);
  await dropFile(page, join(own.folder(), "merged.gguf"));
  await expect(page.getByRole("button", { name: "Send the file to the engine" }).first()).toBeVisible();
  await page.getByRole("button", { name: "Send the file to the engine" }).first().click();
  expect(await answerIn(page, PROMPT)).toBe(adapted);
  expect(errors).toEqual([]);
});
