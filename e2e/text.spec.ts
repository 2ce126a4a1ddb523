/**
 * Graphs as text: one of the gallery is edited, a fault is shown and mended, the new graph is routed, run on several devices and
 * compared; by the keyboard alone; a file is dropped, and what is written of it is there again after a reload.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { dropFile, LOOKS, openLook, openPath, palette, showTab, startReady, station, tab } from "./workbench.ts";

const own = ownWorkbench();

const writing = (page: Page): Locator => page.getByRole("textbox", { name: /^Text of/ });
const faults = (page: Page): Locator => page.getByRole("list", { name: "What is wrong" });
const told = (page: Page): Locator => page.getByRole("tabpanel", { name: "Text" }).getByRole("status").first();

/** Puts a text in the place of another, as a paste does. */
async function replaceText(page: Page, change: (text: string) => string, text: string): Promise<void> {
  await writing(page).focus();
  await page.keyboard.press("Control+A");
  await page.evaluate((words) => navigator.clipboard.writeText(words), change(text));
  await page.keyboard.press("Control+V");
}

const GRAPHS = [
  ["Linear regression", "loss"],
  ["Convolutional network", "classes"],
  ["LSTM", "next"],
  ["Attention block", "y"],
  ["Mamba block", "y"],
  ["FFT filter", "smooth"],
] as const;

test("a graph of the gallery is edited, mended, routed, run on three devices and compared", async ({
  page,
  context,
}) => {
  test.setTimeout(180_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const errors = await openLook(page, await own.address(), LOOKS.usualLight);
  const findings: string[] = [];
  await startReady(page);
  await page.getByRole("button", { name: "New graph…" }).click();
  const gallery = page.getByRole("dialog", { name: "Graphs to start from" });
  await expect(gallery.getByRole("listitem")).toHaveCount(GRAPHS.length);
  findings.push(...(await station(page, "text-gallery")));
  await gallery.getByRole("button", { name: /^FFT filter/ }).click();
  await expect(tab(page, "Text")).toHaveAttribute("aria-selected", "true");
  await expect(told(page)).toHaveText("sound, 7 operations");

  // A fault: it is told with its place and with what to write, and marked in the text.
  await page.getByRole("tabpanel").locator(".view-line").filter({ hasText: "= mul(" }).getByText("mul").click();
  await page.keyboard.press("Home");
  await page.keyboard.type("  %kept2 = mull(%spectrum, %mask)\n");
  await expect(faults(page).getByRole("listitem")).toHaveCount(1);
  await expect(faults(page)).toContainText("no such op");
  await expect(page.locator(".squiggly-error").first()).toBeVisible();
  await expect(told(page)).toHaveText("1 fault, not used yet");
  findings.push(...(await station(page, "text-fault")));
  await faults(page).getByRole("button", { name: "Write mul" }).click();
  await expect(faults(page)).toBeHidden();
  await expect(told(page)).toHaveText("sound, 8 operations, not used yet");

  await page.getByRole("button", { name: "Use this text" }).click();
  await expect(told(page)).toHaveText("sound, 8 operations");
  await expect(tab(page, "Text")).toHaveAttribute("aria-selected", "true");

  // The new graph and its routing.
  const overview = await showTab(page, "Overview");
  await expect(overview).toContainText("A graph of 8 operations, read from fft-filter.rlx.");
  await expect(overview.getByRole("region", { name: "Where will it run?" })).toContainText(/host/i);
  findings.push(...(await station(page, "text-overview")));
  await showTab(page, "Graph");
  await expect(page.locator(".react-flow__node").filter({ hasText: "fft" }).first()).toBeVisible();
  await showTab(page, "Pipeline");
  await expect(page.getByRole("tabpanel")).toContainText("dead code");

  const panel = await showTab(page, "Run");
  await panel.getByRole("checkbox", { name: "MLX" }).check();
  await panel.getByRole("checkbox", { name: "Core ML, simulated" }).check();
  await panel.getByRole("button", { name: "Run it", exact: true }).click();
  const output = panel.getByRole("region", { name: "smooth", exact: true });
  await expect(output.getByRole("row")).toHaveCount(4, { timeout: 30_000 });
  await expect(panel).toContainText("2 parts of 5 ran on the host.");
  // Each is near the reference, the package by its halves.
  await expect(output.getByRole("row").nth(1)).toContainText(/e-8|e-7/);
  await expect(output.getByRole("row").nth(3)).toContainText(/e-4/);
  await output.getByText("Values", { exact: true }).click();
  await expect(output).toContainText("0 to 31 of 64");
  await output.getByRole("button", { name: "Next" }).click();
  await expect(output.getByRole("cell", { name: "[0, 63]" })).toBeVisible();
  findings.push(...(await station(page, "text-run")));

  const exported = await showTab(page, "Export");
  await exported.getByLabel("Where to write the package").fill(join(own.folder(), "filter.mlpackage"));
  await exported.getByRole("button", { name: "Export", exact: true }).click();
  await expect(exported.getByText(/^Written in/)).toBeVisible({ timeout: 30_000 });
  expect(findings).toEqual([]);
  expect(errors).toEqual([]);
});

test("every graph of the gallery runs on two devices and agrees", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openLook(page, await own.address(), LOOKS.leastDark);
  await startReady(page);
  for (const [title, output] of GRAPHS) {
    await page.keyboard.press("Control+K");
    await page.keyboard.type("New graph from");
    await page.keyboard.press("Enter");
    const gallery = page.getByRole("dialog", { name: "Graphs to start from" });
    await gallery.getByRole("button", { name: new RegExp(`^${title}`) }).click();
    await expect(told(page)).toContainText("sound");
    await page.getByRole("button", { name: "Run it", exact: true }).click();
    const panel = page.getByRole("tabpanel", { name: "Run" });
    const simulated = panel.getByRole("checkbox", { name: "Core ML, simulated" });
    if (!(await simulated.isChecked())) await simulated.check();
    await panel.getByRole("button", { name: "Run it", exact: true }).click();
    const rows = panel.getByRole("region", { name: output, exact: true }).getByRole("row");
    await expect(rows).toHaveCount(3, { timeout: 30_000 });
    await expect(rows.nth(2)).toContainText(/e-[3-6]/);
  }
  expect(errors).toEqual([]);
});

test("by the keyboard alone: a value gets another name, the text is formatted, used and run", async ({
  page,
  context,
}) => {
  test.setTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const errors = await openLook(page, await own.address(), LOOKS.leastLight);
  await startReady(page);
  await page.keyboard.press("Control+K");
  await page.keyboard.type("New graph from");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Graphs to start from" })).toBeVisible();
  await tabTo(page, page.getByRole("button", { name: /^Linear regression/ }));
  await page.keyboard.press("Enter");
  await expect(told(page)).toHaveText("sound, 4 operations");
  await tabTo(page, writing(page));

  // To the last line but two, "return "prediction" = %p", and on to %p.
  await page.keyboard.press("Control+End");
  for (let up = 0; up < 3; up++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.press("F12");
  // At the definition, which stands in the ninth line.
  await expect(page.locator(".line-numbers.active-line-number")).toHaveText("8");
  await page.keyboard.press("Control+End");
  for (let up = 0; up < 3; up++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.press("F2");
  await expect(page.locator(".rename-input")).toBeFocused();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("guess");
  await page.keyboard.press("Enter");
  await expect(page.locator(".view-line").filter({ hasText: 'return "prediction" = %guess' })).toBeVisible();
  await page.keyboard.press("Control+Home");
  await expect(page.locator(".view-line").filter({ hasText: "%d = sub(%guess, %y)" })).toBeVisible();

  // The Tab key leaves the editor; the bar is before it.
  await page.keyboard.press("Shift+Tab");
  await tabTo(page, page.getByRole("button", { name: "Format" }), "Shift+Tab");
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("button", { name: "Use this text" }), "Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(told(page)).toHaveText("sound, 4 operations");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("tabpanel", { name: "Run" }).getByRole("region", { name: "loss" })).toBeVisible();
  expect(errors).toEqual([]);
});

/** Goes on with the Tab key until the focus is there. */
async function tabTo(page: Page, wanted: Locator, key = "Tab"): Promise<void> {
  for (let stops = 0; stops < 25; stops++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error("not reached by 25 stops");
}

test("a dropped text with a fault is opened at its fault; what is written is there after a reload, and is saved", async ({
  page,
  context,
}) => {
  test.setTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const errors = await openLook(page, await own.address(), LOOKS.usualDark);
  await startReady(page);
  const text = `graph "square" {\n  %x = input : f32[N]\n  %s = mull(%x, %x)\n  return "s" = %s\n}\n`;
  const path = join(own.folder(), "square.rlx");
  writeFileSync(path, text);
  await dropFile(page, path);
  await expect(tab(page, "Text")).toHaveAttribute("aria-selected", "true");
  await expect(faults(page)).toContainText("3:8");
  await replaceText(page, (before) => before.replace("mull", "mul").replace('"s"', '"squares"'), text);
  await expect(told(page)).toHaveText("sound, 1 operation, not used yet");
  // A quiet moment: the session is saved.
  await page.waitForTimeout(1500);
  await page.reload();
  await expect(told(page)).toHaveText("sound, 1 operation, not used yet");

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save…" }).click(),
  ]);
  expect(readFileSync(await download.path(), "utf8")).toBe(text.replace("mull", "mul").replace('"s"', '"squares"'));

  await page.getByRole("button", { name: "Run it", exact: true }).click();
  const panel = page.getByRole("tabpanel", { name: "Run" });
  await panel.getByLabel("N", { exact: true }).fill("6");
  const array = new Float32Array([1, 2, 3, 4, 5, 6]);
  writeFileSync(join(own.folder(), "x.npy"), npy(array));
  await panel.getByLabel("Array for x").setInputFiles(join(own.folder(), "x.npy"));
  await expect(panel.getByText("x.npy")).toBeVisible();
  // Drawn after all; then the same file once more.
  await panel.getByRole("button", { name: "Draw it" }).click();
  await expect(panel.getByText("drawn by the seed")).toBeVisible();
  await panel.getByLabel("Array for x").setInputFiles(join(own.folder(), "x.npy"));
  await panel.getByRole("button", { name: "Run it", exact: true }).click();
  const output = panel.getByRole("region", { name: "squares" });
  await expect(output).toContainText("f32[6]");
  await expect(output.getByRole("row").nth(1)).toContainText("36");
  expect(errors).toEqual([]);
});

test("a text of a file is used, saved and read again; which pass changed a result, and what an operation is", async ({
  page,
  context,
}) => {
  test.setTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const errors = await openLook(page, await own.address(), LOOKS.usualDark);
  const findings: string[] = [];
  const text = `graph "wave" {\n  %x = input "x" : f32[8]\n  %y = sin(%x)\n  return "y" = %y\n}\n`;
  const path = join(own.folder(), "wave.rlx");
  writeFileSync(path, text);
  await openPath(page, path);
  await showTab(page, "Text");
  const bar = page.getByRole("toolbar", { name: "Text" });
  await expect(bar.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
  await replaceText(page, (before) => before.replace("sin", "cos"), text);
  await bar.getByRole("button", { name: "Use this text" }).click();
  await expect(told(page)).toHaveText("sound, 1 operation, not saved");
  findings.push(...(await station(page, "text-not-saved")));
  await bar.getByRole("button", { name: "Save", exact: true }).click();
  await expect(told(page)).toHaveText("sound, 1 operation");
  const saved = text.replace("sin", "cos");
  expect(readFileSync(path, "utf8")).toBe(saved);

  // The file changes elsewhere: it is written over only when that is asked for.
  writeFileSync(path, text.replace("sin", "exp"));
  await replaceText(page, (before) => before.replace("cos", "tanh"), saved);
  await bar.getByRole("button", { name: "Save", exact: true }).click();
  const refused = page.getByRole("alert").filter({ hasText: "The text was not saved" });
  await expect(refused).toBeVisible();
  findings.push(...(await station(page, "text-conflict")));
  expect(readFileSync(path, "utf8")).toContain("exp(");
  await page.getByRole("button", { name: "Write over it" }).click();
  await expect(told(page)).toHaveText("sound, 1 operation, not used yet");
  expect(readFileSync(path, "utf8")).toContain("tanh(");
  writeFileSync(path, saved);
  await bar.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("tabpanel", { name: "Text" })).toContainText("cos(");

  const pipeline = await showTab(page, "Pipeline");
  await pipeline.getByRole("button", { name: "Find the pass" }).click();
  const steps = pipeline.getByRole("region", { name: "Result after each step" });
  await expect(steps.getByRole("row").nth(1)).toContainText("none");
  findings.push(...(await station(page, "text-find-the-pass")));

  await palette(page, "Operations of graphs");
  const dialog = page.getByRole("dialog", { name: "Operations" });
  await dialog.getByLabel("Search the operations").fill("elementwise_region");
  await expect(dialog.getByRole("heading", { name: "elementwise_region" })).toBeVisible();
  findings.push(...(await station(page, "text-operations")));
  expect(findings).toEqual([]);
  expect(errors).toEqual([]);
});

/** As numpy.save writes it. */
function npy(values: Float32Array): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length},), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8]);
  return Buffer.concat([start, Buffer.from(padded), Buffer.from(values.buffer)]);
}
