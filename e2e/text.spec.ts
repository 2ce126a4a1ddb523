/**
 * Graphs as text: those of the gallery run on two devices and agree; a file is dropped, its fault is shown and mended, and what
 * is written of it is there again after a reload.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import type { ServedWorkbench } from "./serve.ts";
import { serveWorkbench } from "./serve.ts";
import { dropFile, LOOKS, openLook, startReady, tab } from "./workbench.ts";

let folder: string;
let served: ServedWorkbench;
test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "text-"));
  served = await serveWorkbench({ RLX_HOME: join(folder, "home") });
});
test.afterAll(async () => {
  await served.stop();
  rmSync(folder, { recursive: true, force: true });
});

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

test("every graph of the gallery runs on two devices and agrees", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openLook(page, await served.address(), LOOKS.leastDark);
  await startReady(page);
  for (const [title, output] of GRAPHS) {
    await page.keyboard.press("Control+K");
    await page.keyboard.type("New graph from");
    await page.keyboard.press("Enter");
    const gallery = page.getByRole("dialog", { name: "Graphs to start from" });
    await gallery.getByRole("button", { name: new RegExp(`^${title}`) }).click();
    await expect(told(page)).toContainText("sound");
    await page.getByRole("button", { name: "Run it" }).click();
    const panel = page.getByRole("tabpanel", { name: "Run" });
    const simulated = panel.getByRole("checkbox", { name: "Core ML, simulated" });
    if (!(await simulated.isChecked())) await simulated.check();
    await panel.getByRole("button", { name: "Run it" }).click();
    const rows = panel.getByRole("region", { name: output, exact: true }).getByRole("row");
    await expect(rows).toHaveCount(3, { timeout: 30_000 });
    await expect(rows.nth(2)).toContainText(/e-[3-6]/);
  }
  expect(errors).toEqual([]);
});

test("a dropped text with a fault is opened at its fault; what is written is there after a reload, and is saved", async ({
  page,
  context,
}) => {
  test.setTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const errors = await openLook(page, await served.address(), LOOKS.usualDark);
  await startReady(page);
  const text = `graph "square" {\n  %x = input : f32[N]\n  %s = mull(%x, %x)\n  return "s" = %s\n}\n`;
  const path = join(folder, "square.rlx");
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

  await page.getByRole("button", { name: "Run it" }).click();
  const panel = page.getByRole("tabpanel", { name: "Run" });
  await panel.getByLabel("N", { exact: true }).fill("6");
  const array = new Float32Array([1, 2, 3, 4, 5, 6]);
  writeFileSync(join(folder, "x.npy"), npy(array));
  await panel.getByLabel("Array for x").setInputFiles(join(folder, "x.npy"));
  await panel.getByRole("button", { name: "Run it" }).click();
  const output = panel.getByRole("region", { name: "squares" });
  await expect(output).toContainText("f32[6]");
  await expect(output.getByRole("row").nth(1)).toContainText("36");
  expect(errors).toEqual([]);
});

/** As numpy.save writes it. */
function npy(values: Float32Array): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length},), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8]);
  return Buffer.concat([start, Buffer.from(padded), Buffer.from(values.buffer)]);
}
