/** Bench and Profile on the devices that there are, the conditions of a result, and the doctor's view of the machine's state. */
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, LOOKS, openLook, openPath, picture, sampleCopy, showTab } from "./workbench.ts";

const own = ownWorkbench();

/** Chooses MLX where it is here; says which device it is then. */
async function choose(page: Page, panel: Locator, label: string): Promise<string> {
  await panel.getByRole("button", { name: new RegExp(`^${label}`) }).click();
  const list = page.getByRole("radiogroup", { name: label });
  await expect(list).toContainText("A simulator’s speed says nothing");
  const mlx = list.getByRole("radio", { name: /^MLX/ });
  const here = await mlx.isEnabled();
  if (here) await mlx.check();
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
  return here ? "MLX" : "CPU";
}

test("measure and record on a chosen device", async ({ page }) => {
  test.setTimeout(240_000);
  const errors = await openLook(page, await own.address(), LOOKS.leastDark);
  await openPath(page, sampleCopy(own.folder(), "devices.gguf"));
  const bench = await showTab(page, "Bench");
  const device = await choose(page, bench, "Measured on");
  for (const [label, value] of [
    ["Prompt tokens", "16"],
    ["Generated tokens", "8"],
    ["Repeats", "5"],
  ] as const)
    await bench.getByLabel(label, { exact: true }).fill(value);
  await bench.getByRole("button", { name: "Measure", exact: true }).click();
  const result = bench.getByRole("region", { name: "Result" });
  await expect(result).toContainText(`on ${device}`, { timeout: 120_000 });
  const conditions = result.locator("details");
  if ((await conditions.getAttribute("open")) === null) await conditions.locator("summary").click();
  await expect(conditions).toContainText(/Power.*Memory.*Load/s);
  await expect(page.getByRole("contentinfo")).toContainText(`--device ${device.toLowerCase()}`);
  await picture(page, "bench-device");
  expect(await axeFindings(page)).toEqual([]);

  const profile = await showTab(page, "Profile");
  expect(await choose(page, profile, "Recorded on")).toBe(device);
  await profile.getByRole("button", { name: "Record", exact: true }).click();
  await expect(profile.getByRole("region", { name: "By operation", exact: true })).toBeVisible({ timeout: 120_000 });
  if (device === "MLX") await expect(profile).toContainText("MLX evaluated each call on its own");
  await picture(page, "profile-device");

  await page.getByRole("contentinfo").getByRole("button", { name: "Engine ready" }).click();
  const doctor = page.getByRole("dialog");
  await expect(doctor.getByRole("heading", { name: "Thermal state" })).toBeVisible();
  await expect(doctor.getByRole("heading", { name: "Power" })).toBeVisible();
  const mlx = doctor.getByRole("heading", { name: "MLX memory" });
  await expect(mlx).toBeVisible();
  await mlx.scrollIntoViewIfNeeded();
  await picture(page, "doctor-state");
  await page.keyboard.press("Escape");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("operations of graphs");
  await page.keyboard.press("Enter");
  const operations = page.getByRole("dialog", { name: "Operations" });
  await operations.getByRole("textbox", { name: "Search the operations" }).fill("softmax");
  const facts = operations.getByRole("region", { name: "The operation softmax" });
  await expect(facts).toContainText(/What runs it.*CPU.*native.*Core ML.*MLX.*Gradient/s);
  await expect(facts.locator("pre").last()).toContainText("= softmax(%0)");
  expect(await axeFindings(page)).toEqual([]);
  await picture(page, "operations");
  expect(errors).toEqual([]);
});
