/**
 * Two days of a user, by keyboard but for drops: a folder and several files, what a model is and how fast it is here, an advice, an
 * answer, a benchmark and a report; then the session goes on in a new browser, and the model is compared with itself on another
 * target. Each station is looked at in three sizes and both themes.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { answerOf, dropFiles, openWindow, palette, sampleCopy, startReady, station, tab, view } from "./workbench.ts";

const own = ownWorkbench();

const press = async (target: Locator): Promise<void> => {
  await target.focus();
  await target.press("Enter");
};

async function savedText(page: Page, act: () => Promise<void>): Promise<string> {
  const coming = page.waitForEvent("download");
  await act();
  return readFileSync(await (await coming).path(), "utf8");
}

async function applyAdvice(page: Page): Promise<void> {
  const card = page.getByRole("region", { name: "What would make it faster?" });
  const row = page
    .getByRole("navigation")
    .getByRole("region", { name: "Advice" })
    .getByRole("button", {
      name: /compute units/i,
    });
  await press(row.first());
  const open = card.getByRole("listitem").filter({ has: page.locator('[aria-expanded="true"]') });
  await press(open.getByRole("button", { name: "Preview" }));
  await expect(open.getByRole("table")).toContainText("Bytes moved");
  await press(open.getByRole("button", { name: "Apply" }));
  await expect(row).toHaveCount(0);
}

async function measure(panel: Locator): Promise<void> {
  for (const [label, value] of [
    ["Prompt tokens", "16"],
    ["Generated tokens", "8"],
    ["Repeats", "2"],
  ] as const)
    await panel.getByLabel(label).fill(value);
  await press(panel.getByRole("button", { name: "Measure", exact: true }));
  const result = panel.getByRole("region", { name: "Result" });
  const anyway = panel.getByRole("button", { name: "Measure anyway" });
  await expect(result.or(anyway).first()).toBeVisible({ timeout: 30_000 });
  if (await anyway.isVisible()) await press(anyway);
  await expect(result).toContainText(/\d\st\/s/, { timeout: 30_000 });
}

test("a first day from the start to a report, and a second one from its session to a comparison", async ({
  page,
  browser,
}) => {
  // Pictures in three sizes and both themes take half of it.
  test.setTimeout(180_000);
  const wrong: string[] = [];
  const errors = await openWindow(page, await own.address());
  await startReady(page);
  const path = sampleCopy(own.folder(), "daily.gguf");
  let answer = "";

  await test.step("a folder and several files are dropped: one of their models is chosen", async () => {
    const models = join(own.folder(), "models");
    mkdirSync(models);
    const two = ["first.gguf", "second.gguf"].map((name) => sampleCopy(models, name));
    const notes = join(models, "notes.txt");
    writeFileSync(notes, "no model");
    const list = page.getByRole("dialog", { name: "2 models were dropped" });
    await dropFiles(page, [models]);
    await expect(list.getByRole("button", { name: /\.gguf/ })).toHaveCount(2);
    wrong.push(...(await station(page, "days-dropped")));
    await page.keyboard.press("Escape");
    await expect(list).toBeHidden();
    await dropFiles(page, [...two, notes]);
    await expect(list).toContainText("No model, left out: notes.txt.");
    await press(list.getByRole("button", { name: /second\.gguf/ }));
    await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
    await expect(page.getByRole("region", { name: "Identity" })).toContainText("second.gguf");
    await page.keyboard.press("Control+Shift+W");
    await startReady(page);
  });

  await test.step("the first day: what it is, how fast, and what would make it faster", async () => {
    await palette(page, "open a path");
    await expect(page.getByLabel(/Path of a GGUF/)).toBeFocused();
    await page.keyboard.type(path);
    await page.keyboard.press("Enter");
    await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
    await expect(page.getByRole("region", { name: "Verdict" })).toContainText(/^On .+: .+(t\/s|a token)\. .+\./u);
    wrong.push(...(await station(page, "days-verdict")));
    await applyAdvice(page);
  });

  await test.step("an answer, a benchmark and a report", async () => {
    const run = await view(page, "Alt+5", "Run");
    await expect(page.locator("#composer")).toBeFocused();
    await run.getByLabel("Temperature").fill("0");
    await page.locator("#composer").focus();
    await page.keyboard.type("What is 7 x 8?");
    await page.keyboard.press("Enter");
    await expect(answerOf(run)).toContainText("= 56");
    await expect(run.getByRole("button", { name: "Send", exact: true })).toBeVisible();
    answer = await answerOf(run).innerText();
    await measure(await view(page, "Alt+7", "Bench"));
    wrong.push(...(await station(page, "days-bench")));
    // It has no search of its own: what it says is searched.
    await page.keyboard.press("Control+F");
    await expect(page.getByLabel("Find in this view")).toBeFocused();
    await page.keyboard.type("decode");
    await expect(page.getByRole("search").getByRole("status")).toHaveText(/^1 of \d/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Shift+S");
    const dialog = page.getByRole("dialog", { name: "Save a report" });
    await expect(dialog.getByRole("checkbox", { name: /^Bench 1/u })).toBeEnabled();
    await dialog.getByLabel("The conversation, 1 turn").press("Space");
    wrong.push(...(await station(page, "days-report")));
    const report = await savedText(page, () => press(dialog.getByRole("button", { name: "Save", exact: true })));
    expect(report).toContain("What is 7 x 8?");
    expect(report).not.toContain(own.folder());
    await view(page, "Alt+5", "Run");
    // Saved by itself, a moment after the last change.
    await page.waitForTimeout(1500);
    await page.close();
  });

  await test.step("the second day: the session goes on, and the model is compared", async () => {
    const next = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    const later = await openWindow(next, await own.address());
    await startReady(next);
    wrong.push(...(await station(next, "days-start-again")));
    const kept = next.getByRole("region", { name: "Go on with" });
    await press(kept.getByRole("button", { name: /RLX Sample.*today/ }).first());
    await expect(tab(next, "Run")).toHaveAttribute("aria-selected", "true");
    await expect(answerOf(next)).toHaveText(answer, { useInnerText: true });
    wrong.push(...(await station(next, "days-restored")));
    await next.keyboard.press("Control+Shift+D");
    const compare = next.getByRole("tabpanel", { name: "Compare" });
    const words = compare.getByRole("region", { name: "In words" });
    await expect(words).toContainText("Both are the same file", { timeout: 30_000 });
    const other = compare.getByLabel("What B runs on");
    await other.focus();
    await other.selectOption({ label: "CPU" });
    await expect(words).toContainText(/B is predicted to take .* for a token.*From A's graph to B's: \d+ ops? added/s);
    await expect(words).toContainText("Both are the same file: what differs comes from the targets.");
    const save = compare.getByRole("button", { name: "Save as HTML…" });
    await expect(save).toBeEnabled();
    wrong.push(...(await station(next, "days-compare")));
    const sentence = (await words.getByRole("listitem").first().innerText()).trim();
    const diff = await savedText(next, () => press(save));
    expect(diff).toContain(sentence);
    errors.push(...later);
    await next.context().close();
  });

  await test.step("a fresh window: the model's history of benchmarks, and one more in its chart", async () => {
    const fresh = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    const later = await openWindow(fresh, await own.address());
    await startReady(fresh);
    await palette(fresh, "open a path");
    await expect(fresh.getByLabel(/Path of a GGUF/)).toBeFocused();
    await fresh.keyboard.type(path);
    await fresh.keyboard.press("Enter");
    await expect(tab(fresh, "Overview")).toHaveAttribute("aria-selected", "true");
    const bench = await view(fresh, "Alt+7", "Bench");
    const history = bench.getByRole("region", { name: "History" });
    await expect(history).toContainText("1 measurement of this model before");
    await measure(bench);
    await expect(history.getByRole("img", { name: /tokens per second over time: .+, .+/ })).toBeVisible();
    await press(history.getByText("All of them"));
    await expect(history.getByRole("checkbox", { name: /^Compare / })).toHaveCount(1);
    wrong.push(...(await station(fresh, "days-history")));
    errors.push(...later);
    await fresh.context().close();
  });
  expect([...errors, ...wrong]).toEqual([]);
});
