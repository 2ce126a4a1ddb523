/**
 * What the first screen offers beside the sample: a header without weights, which can do everything but run and says why not,
 * and a graph with host segments, which shows at once how a program is cut and routed.
 */
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import type { Look } from "./workbench.ts";
import { lookAt, LOOKS, offered, openLook, showTab, startReady, tab } from "./workbench.ts";

const own = ownWorkbench();

async function openOffer(page: Page, offer: RegExp, shown: Look): Promise<string[]> {
  const errors = await openLook(page, await own.address(), shown);
  await startReady(page);
  await offered(page, offer).click();
  await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
  await expect(page.getByText("of predicted time").first()).toBeVisible();
  return errors;
}

test("a header without weights does everything but run", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openOffer(page, /Header only, 1B/, LOOKS.usualDark);
  const findings: string[] = [];
  const look = async (view: string): Promise<void> => void findings.push(...(await lookAt(page, `header-${view}`)));

  const overview = page.getByRole("tabpanel", { name: "Overview" });
  await expect(overview).toContainText("1.24 B parameters");
  await expect(overview).toContainText("a header without weights: there is nothing to run or export");
  await expect(overview.getByRole("region", { name: "Where will it run?" })).toContainText("Neural Engine");
  await look("overview");

  const tensors = await showTab(page, "Tensors");
  await expect(tensors).toContainText(/1\d\d tensors/);
  await expect(tensors).toContainText("token_embd.weight");

  await showTab(page, "Graph");
  const cards = page.locator(".react-flow__node");
  await expect(cards.filter({ hasText: "×" }).first()).toBeVisible();
  await expect(page.getByTitle("Only Neural Engine (A)")).toBeVisible();
  await look("graph");

  await showTab(page, "Pipeline");
  await expect(page.locator(".monaco-diff-editor .view-line").first()).toBeVisible();

  for (const [view, refused] of [
    ["Run", "This cannot be run here"],
    ["Bench", "This cannot be measured here"],
    ["Profile", "This cannot be profiled here"],
  ] as const) {
    const panel = await showTab(page, view);
    await expect(panel).toContainText(refused);
    await expect(panel).toContainText("a header without weights: there is nothing to run");
    await expect(panel.getByRole("button", { name: /^(Measure|Record|Send)$/ })).toHaveCount(0);
    if (view === "Run") await look("run");
  }
  await expect(page.getByRole("banner").getByRole("button", { name: "Run", exact: true })).toBeDisabled();

  // What a package would be is known without weights; only writing it needs them.
  const plan = await showTab(page, "Export");
  await expect(plan.getByRole("table")).toContainText("Q4_K");
  await expect(plan).toContainText("decode and prefill, sharing weights");
  await expect(plan).toContainText("there is nothing to export");
  await expect(plan.getByRole("button", { name: "Export", exact: true })).toHaveCount(0);
  await look("export");
  expect(findings).toEqual([]);
  expect(errors).toEqual([]);
});

test("the graph with host segments shows its cuts", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openOffer(page, /host segments/, LOOKS.leastLight);
  const findings: string[] = [];
  const look = async (view: string): Promise<void> => void findings.push(...(await lookAt(page, `demo-${view}`)));

  const where = page.getByRole("region", { name: "Where will it run?" });
  for (const device of ["Neural Engine", "CPU", "Host"]) await expect(where).toContainText(device);
  await expect(page.getByRole("complementary", { name: "Inspector" })).toContainText("7 segments");
  await look("overview");

  await showTab(page, "Graph");
  const cards = page.locator(".react-flow__node");
  await expect(cards.first()).toBeVisible();
  for (const title of ["Only Neural Engine (A)", "Only CPU (C)", "Only Host code (H)"])
    await expect(page.getByTitle(title)).toBeVisible();
  await look("graph");
  // Each host op says why Core ML does not take it.
  for (const [op, why] of [
    ["fft", "no Fourier transform"],
    ["lstm", "no compute unit but the CPU runs it"],
    ["custom", "a function of the host program"],
  ] as const) {
    await page.getByLabel("Search the graph").fill(`op:${op}`);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("complementary", { name: "Inspector" })).toContainText(why);
  }
  await look("graph-host");

  const run = await showTab(page, "Run");
  await run.getByRole("button", { name: "Run it" }).click();
  const segments = run.getByRole("region", { name: "Segments" });
  await expect(segments.getByRole("row")).toHaveCount(8, { timeout: 60_000 });
  await expect(segments).toContainText("simulated");
  await expect(run.getByRole("region", { name: "Does it agree?" })).toContainText(/reference/);
  await look("run");
  expect(findings).toEqual([]);
  expect(errors).toEqual([]);
});
