/** The run tab beyond the first answer: focus, Escape, the context that a model knows, earlier runs and their comparison. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { writeTinyGguf } from "../main/testing/tinyGguf.ts";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, LOOKS, openLook, openPath, openWindow, picture, sampleCopy, showTab, tab } from "./workbench.ts";

const own = ownWorkbench();

test("the composer has the focus, and no context is longer than the trained one", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "focus.gguf"));
  const panel = await showTab(page, "Run");
  const composer = page.locator("#composer");
  await expect(composer).toBeFocused();

  // Arrow keys along the tabs keep the focus on the tabs.
  await tab(page, "Pipeline").click();
  await page.keyboard.press("ArrowRight");
  await expect(tab(page, "Run")).toBeFocused();

  await panel.getByText("Text", { exact: true }).click();
  await panel.getByRole("button", { name: "Sampling parameters" }).click();
  const form = page.getByRole("dialog");
  await expect(form).toContainText(/trained on 1.?024 tokens/);
  const context = form.getByRole("spinbutton", { name: "Context" });
  await expect(context).toHaveValue("1024");
  await context.fill("9000");
  await expect(context).toHaveValue("1024");
  await expect(form.getByRole("status")).toContainText(/at most 1.?024/);
  await form.getByRole("spinbutton", { name: "Top-k" }).hover();
  await expect(page.getByText("Draws only among this many of the likeliest tokens").last()).toBeVisible();
  await picture(page, "run-parameters");
  await page.keyboard.press("Escape");
  await expect(form).toBeHidden();
  expect(errors).toEqual([]);
});

test("an answer under a grammar, set in the advanced group", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "grammar.gguf"));
  const panel = await showTab(page, "Run");
  await panel.getByText("Text", { exact: true }).click();
  await panel.getByRole("button", { name: "Sampling parameters" }).click();
  const form = page.getByRole("dialog");
  await expect(form.getByRole("spinbutton", { name: "Mirostat version" })).toBeHidden();
  await form.getByText("Advanced").click();
  await form.getByRole("spinbutton", { name: "Mirostat version" }).fill("2");
  await form.getByLabel("Logit biases").fill("x");
  await expect(form.getByText("Left out, because it is not a token with a bias")).toBeVisible();
  await form.getByLabel("Logit biases").fill("");
  await form.getByLabel("Grammar (GBNF)").fill('root ::= "red" | "green"');
  await form.getByLabel("Precision").selectOption("mixed");
  await picture(page, "run-advanced");
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(form).toBeHidden();
  await page.locator("#composer").fill("Once");
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("article")).toContainText(/red|green/);
  await expect(panel.getByRole("article")).toContainText("The model ended its answer.");
  await expect(page.getByRole("contentinfo")).toContainText("--precision mixed");
  expect(errors).toEqual([]);
});

test("Escape stops, and the composer keeps the focus", async ({ page }) => {
  // A story of the sample can end before the button is shown.
  const model = join(own.folder(), "endless.gguf");
  await writeTinyGguf(model, { layers: 48, feedForward: 512, endless: true });
  const errors = await openWindow(page, await own.address());
  await openPath(page, model);
  const panel = await showTab(page, "Run");
  await panel.getByText("Text", { exact: true }).click();
  await panel.getByRole("button", { name: "Sampling parameters" }).click();
  const form = page.getByRole("dialog");
  await form.getByRole("spinbutton", { name: "Max tokens" }).fill("4000");
  // The first one leaves the field.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(form).toBeHidden();

  const composer = page.locator("#composer");
  await composer.fill("Once upon a time");
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("button", { name: "Stop", exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  await expect(panel.getByRole("article")).toContainText(/[Ss]topped/);
  await expect(composer).toBeFocused();
  expect(errors).toEqual([]);
});

test("earlier runs come back, stand side by side and are saved", async ({ page }) => {
  // Three answers and two pictures of axe: minutes on a machine that does other work too.
  test.setTimeout(240_000);
  const errors = await openLook(page, await own.address(), LOOKS.usualDark);
  await openPath(page, sampleCopy(own.folder(), "history.gguf"));
  const panel = await showTab(page, "Run");
  const composer = page.locator("#composer");
  for (const [prompt, temperature] of [
    ["What is 7 x 8?", "0"],
    ["Tell me a story.", "1.2"],
    ["Tell me a story.", "0"],
  ] as const) {
    await panel.getByLabel("Temperature").fill(temperature);
    await composer.fill(prompt);
    await page.keyboard.press("Enter");
    await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 60_000 });
  }
  // Beside other views the navigator lists what was run; the history opens from there as from the composer.
  await showTab(page, "Overview");
  const listed = page.getByRole("navigation").getByRole("region", { name: "Runs" }).getByRole("button");
  await expect(listed).toHaveCount(3);
  // A low window keeps the room for the tree and shows the newest two.
  await page.setViewportSize({ width: 1000, height: 640 });
  await expect(listed).toHaveCount(2);
  await expect(listed.first()).toContainText(/Chat 3, \d\d:\d\d.*t\/s/);
  await listed.first().click();
  await panel.getByRole("button", { name: "Back to the conversation" }).click();
  await panel.getByRole("button", { name: "History, 3 runs" }).click();
  const history = panel.getByRole("region", { name: "Earlier runs" });
  await expect(history.getByRole("row")).toHaveCount(4);
  const ticks = history.getByRole("checkbox");
  await ticks.nth(0).check();
  await ticks.nth(1).check();
  await expect(history.locator("mark").first()).toBeVisible();
  await expect(history).toContainText(/temperature (1\.2 → 0|0 → 1\.2)/);
  await expect(history).toContainText(/decode.*×/s);
  await picture(page, "run-history");
  expect(await axeFindings(page)).toEqual([]);

  const download = page.waitForEvent("download");
  await history.getByRole("button", { name: "Save as JSON" }).click();
  const saved = JSON.parse(readFileSync(await (await download).path(), "utf8")) as {
    readonly format: string;
    readonly runs: readonly { readonly prompt: string; readonly tokensPerSecond: number }[];
  };
  expect(saved.format).toBe("rlx-runs");
  expect(saved.runs.map(({ prompt }) => prompt)).toEqual(["Tell me a story.", "Tell me a story.", "What is 7 x 8?"]);
  expect(saved.runs.every(({ tokensPerSecond }) => tokensPerSecond > 0)).toBe(true);

  await history.getByRole("button", { name: "What is 7 x 8?" }).click();
  await expect(composer).toHaveValue("What is 7 x 8?");
  await expect(panel.getByLabel("Seed", { exact: true })).not.toHaveValue("");
  expect(errors).toEqual([]);
});
