/** Training from the window: a small run begins, its curve is drawn, it waits and goes on, is stopped, and stands in the list. */
import { expect, test } from "@playwright/test";
import { allowedFor } from "../main/testing/pace.ts";
import { ownWorkbench } from "./serve.ts";
import { tasksOf } from "./tasks.ts";
import { lookAt, openWindow, startReady } from "./workbench.ts";

const own = ownWorkbench();

test("trains a line without a model: curve, pause, stop, and the run in the list", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const errors = await openWindow(page, await own.address());
  await startReady(page);
  await page.getByRole("button", { name: "Train a small model…" }).click();
  const form = page.getByRole("region", { name: "A new run" });
  await form.getByRole("radio", { name: /Linear regression/ }).check();
  const steps = form.getByLabel("Steps", { exact: true });
  await steps.fill("none");
  await expect(form.getByRole("alert")).toHaveText("“none” is no number.");
  await expect(form.getByRole("button", { name: "Start" })).toBeDisabled();
  // Long enough to be paused and stopped in the middle.
  await steps.fill("10000000");
  await expect(form.getByRole("status")).toContainText("parameters are trained");
  await steps.press("ControlOrMeta+Enter");

  const run = page.getByRole("region", { name: /^(Training|Pausing|Paused|Stopping|Stopped|Going on)/ });
  const line = run.locator('[data-curve="training"] path');
  await expect(line).toHaveAttribute("d", /^M[\d.]+ [\d.]+L/u);
  // Thousands of steps come in meanwhile; what the window makes of them leaves room for clicks.
  const tasks = await tasksOf(page, () => page.waitForTimeout(3000));
  const longest = Math.max(...tasks);
  const { ms, sentence } = await allowedFor(longest, 50);
  expect(tasks.length).toBeGreaterThan(20);
  expect(longest, `${tasks.length} tasks; ${sentence}`).toBeLessThan(ms);
  await run.getByRole("button", { name: "Pause" }).click();
  await expect(run.getByRole("button", { name: "Go on" })).toBeEnabled();
  const stepNow = (): Promise<string | null> => run.getByText(/^step [\d\s]+ of/u).textContent();
  const before = await stepNow();
  expect(await lookAt(page, "train-paused")).toEqual([]);
  expect(await stepNow()).toBe(before);
  // The keys of the chart say each step's values.
  const chart = run.getByRole("slider", { name: "Loss by step" });
  await chart.press("Home");
  await expect(chart).toHaveAttribute("aria-valuetext", /^step [\d\s]+: training [\d.e-]+/u);
  await run.getByRole("button", { name: "Go on" }).click();
  await expect.poll(stepNow).not.toBe(before);
  await run.getByRole("button", { name: "Stop" }).click();

  const row = page.getByRole("table", { name: "Runs, the newest first" }).getByRole("row").nth(1);
  await expect(row).toContainText("stopped");
  await row.getByRole("checkbox").check();
  const beside = page.getByRole("region", { name: "Side by side" });
  await expect(beside.locator("[data-curve] path").first()).toHaveAttribute("d", /^M/u);
  await run.getByRole("button", { name: "Train again" }).click();
  await expect(form.getByRole("button", { name: "Start" })).toBeEnabled();
  expect(await lookAt(page, "train-runs")).toEqual([]);
  await row.getByRole("button", { name: /^Forget/ }).click();
  await expect(page.getByText("Nothing was trained yet")).toBeVisible();
  expect(errors).toEqual([]);
});

test("trains digits in few bits, and says what they cost", async ({ page }) => {
  const errors = await openWindow(page, await own.address(), "dark");
  await startReady(page);
  await page.getByRole("button", { name: "Train a small model…" }).click();
  const form = page.getByRole("region", { name: "A new run" });
  await form.getByRole("radio", { name: /^Digits/u }).check();
  await form.getByText("More settings").click();
  const settings = { Steps: "24", Batch: "8", Channels: "4", Images: "200" };
  const fewBits = { "Bits of weights": "2", "Steps in floats": "16" };
  for (const [label, value] of Object.entries({ ...settings, ...fewBits }))
    await form.getByLabel(label, { exact: true }).fill(value);
  await expect(form.getByRole("status")).toContainText("parameters are trained");
  await form.getByRole("button", { name: "Start" }).click();
  const cost = page.getByRole("table", { name: "In few bits" });
  for (const row of ["in floats", "calibrated at step 16", "trained on in few bits"])
    await expect(cost.getByRole("row").filter({ hasText: row })).toContainText(/\d\s%/u, { timeout: 60_000 });
  expect(await lookAt(page, "train-few-bits")).toEqual([]);
  expect(errors).toEqual([]);
});
