/** One question on two devices, for real: the CPU engine beside MLX, and beside the simulator of Core ML where MLX is not built. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, LOOKS, openLook, openPath, openWindow, picture, sampleCopy, showTab } from "./workbench.ts";

const own = ownWorkbench();

async function sideBySide(page: Page, name: string): Promise<Locator> {
  await openPath(page, sampleCopy(own.folder(), name));
  const panel = await showTab(page, "Run");
  await panel.getByRole("button", { name: "Add a column" }).click();
  await expect(panel.getByText("One question, several columns")).toBeVisible();
  return panel;
}

/** What stands beside the CPU here. */
const besideCpu = async (panel: Locator): Promise<string> =>
  (await panel.getByRole("button", { name: /^Device of column 2/ }).innerText()).replace(/^.*and on\s*/s, "").trim();

test("both answer with the same seed", async ({ page }) => {
  test.setTimeout(240_000);
  const errors = await openLook(page, await own.address(), LOOKS.leastDark);
  const panel = await sideBySide(page, "pair.gguf");
  const other = await besideCpu(panel);
  await expect(page.getByRole("banner")).toContainText(`on CPU and ${other}`);
  await panel.getByLabel("Seed", { exact: true }).fill("11");
  await page.locator("#composer").fill("Tell me a story.");
  // Speeds are live: a column shows the speed of now while it writes. Looked for at every change: a story takes a fraction of a second,
  // and what asks less often, even in each frame of a busy machine, can find it written.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      if (![...document.querySelectorAll("article")].some(({ textContent }) => /t\/s\snow/.test(textContent))) return;
      observer.disconnect();
      document.body.dataset["sawSpeed"] = "now";
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await page.keyboard.press("Enter");
  const pair = panel.getByRole("article", { name: `Side by side, CPU and ${other}` });
  const columns = [pair.getByRole("region", { name: "CPU" }), pair.getByRole("region", { name: other })] as const;
  await expect(page.locator("body")).toHaveAttribute("data-saw-speed", "now", { timeout: 15_000 });
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 120_000 });
  for (const column of columns) {
    await expect(column).toContainText(/on (CPU|MLX|Core ML, simulated)/);
    await expect(column).toContainText(/\d\st\/s/);
    await expect(column).toContainText("seed 11");
  }
  await expect(pair.getByRole("status")).toContainText(/All \d+ tokens are the same|They diverge at token \d+/);
  // A simulator's speed is compared with nothing.
  if (other === "MLX") await expect(pair.getByRole("status")).toContainText(/wrote at [\d.]+ × the speed of CPU/);
  else await expect(pair.getByRole("status")).not.toContainText("the speed of");
  await picture(page, "side-by-side");
  expect(await axeFindings(page)).toEqual([]);

  await panel.getByRole("button", { name: "History, 2 runs" }).click();
  const history = panel.getByRole("region", { name: "Earlier runs" });
  await expect(history.getByRole("row").nth(1)).toContainText(other);
  await expect(history.getByRole("row").nth(2)).toContainText("CPU");
  await picture(page, "side-by-side-history");
  const download = page.waitForEvent("download");
  await history.getByRole("button", { name: "Save as JSON" }).click();
  const saved = JSON.parse(readFileSync(await (await download).path(), "utf8")) as {
    readonly runs: readonly {
      readonly device: string;
      readonly sideBySide: number;
      readonly parameters: { readonly seed: number };
    }[];
  };
  expect(saved.runs.map(({ device }) => device)).toEqual([other === "MLX" ? "mlx" : "coreml-sim", "cpu"]);
  expect(new Set(saved.runs.map(({ sideBySide, parameters }) => `${sideBySide} ${parameters.seed}`)).size).toBe(1);
  expect(errors).toEqual([]);
});

test("a token that differs is marked in both, and stop ends both", async ({ page }) => {
  test.setTimeout(240_000);
  const errors = await openWindow(page, await own.address());
  const panel = await sideBySide(page, "pair-differs.gguf");
  // The simulator computes the exported package: f16 weights and other sums, so a free draw parts from the CPU's sooner or later.
  await panel.getByRole("button", { name: /^Device of column 2/ }).click();
  await page
    .getByRole("radiogroup", { name: "Device of column 2" })
    .getByText("Core ML, simulated", { exact: true })
    .click();
  await page.keyboard.press("Escape");
  await panel.getByLabel("Temperature").fill("2");
  await panel.getByLabel("Seed", { exact: true }).fill("3");
  await panel.getByText("Text", { exact: true }).click();
  await panel.getByRole("button", { name: "Sampling parameters" }).click();
  await page.getByRole("spinbutton", { name: "Max tokens" }).fill("60");
  await page.getByRole("spinbutton", { name: "Top-k" }).fill("0");
  await page.getByRole("spinbutton", { name: "Top-p" }).fill("1");
  // The first one leaves the field.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.locator("#composer").fill("Once upon a time");
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 180_000 });
  const pair = panel.getByRole("article");
  await expect(pair.getByText("simulated", { exact: true })).toBeVisible();
  const said = await pair.getByRole("status").innerText();
  const parted = /They diverge at token (\d+)/.exec(said);
  if (parted === null) expect(said).toMatch(/All \d+ tokens are the same/);
  else {
    const marked = pair.locator('[title="The first token that differs"]');
    await expect(marked).toHaveCount(2);
    for (const token of await marked.all())
      expect(Number(await token.getAttribute("data-token"))).toBe(Number(parted[1]) - 1);
    await picture(page, "side-by-side-differs");
  }

  await panel.getByText("At once", { exact: true }).click();
  await page.locator("#composer").fill("Once more");
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("article").last().locator("[data-token]").first()).toBeVisible({ timeout: 60_000 });
  await page.keyboard.press("Escape");
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 60_000 });
  for (const column of await panel.getByRole("article").last().getByRole("region").all())
    await expect(column).toContainText(/[Ss]topped|limit|ended/);
  expect(errors).toEqual([]);
});

test("the list of devices says what is missing, offers the simulator, and knows the fastest once it has measured", async ({
  page,
}) => {
  test.setTimeout(120_000);
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "devices.gguf"));
  const panel = await showTab(page, "Run");
  await panel.getByRole("button", { name: /^Answers on/ }).click();
  const list = page.getByRole("radiogroup", { name: "Answers on" });
  await expect(list.getByRole("radio")).toHaveCount(4);
  const advice = page.getByRole("region", { name: "Which is fastest" });
  await expect(advice).toContainText("No device was measured");
  await advice.getByRole("button", { name: "Measure the devices" }).click();
  await expect(advice).toContainText(/Fastest here: .+, because|Only CPU was measured/, { timeout: 60_000 });
  await advice.getByText("The sums").click();
  await expect(advice).toContainText(/one token.*÷.*GB\/s.*=/s);
  await picture(page, "device-picker");
  expect(await axeFindings(page)).toEqual([]);
  if (process.platform !== "darwin") {
    await expect(list).toContainText("Core ML exists on Macs only");
    await list.getByRole("button", { name: "Take Core ML, simulated instead" }).click();
    await page.keyboard.press("Escape");
    await expect(panel.getByRole("button", { name: /^Answers on/ })).toContainText("Core ML, simulated");
  }
  expect(errors).toEqual([]);
});
