/**
 * The routing view beyond the prediction: MLX as the alternative, and Core ML's own plan beside ours. Where Core ML is not, the
 * window says so in a sentence; over the test double, where that is built, a plan is laid beside the prediction.
 */
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { doubleModule, noDouble } from "../main/testing/coremlDouble.ts";
import type { ServedWorkbench } from "./serve.ts";
import { ownWorkbench, serveWorkbench } from "./serve.ts";
import {
  axeFindings,
  legend,
  lookAt,
  LOOKS,
  openLook,
  openPath,
  openWindow,
  picture,
  sampleCopy,
  showTab,
  tab,
} from "./workbench.ts";

const own = ownWorkbench();

/** Text that is cut without dots, or covers its neighbour. */
const overrun = (elements: readonly Element[]): string[] =>
  elements
    .filter((element) => getComputedStyle(element).textOverflow !== "ellipsis")
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ textContent }) => textContent);

const card = (page: Page, name: string): Locator => page.getByRole("tabpanel").getByRole("region", { name });

test("MLX beside Core ML, op by op and weight by weight", async ({ page }) => {
  test.setTimeout(120_000);
  const errors = await openLook(page, await own.address(), LOOKS.usualLight);
  await openPath(page, sampleCopy(own.folder(), "mlx.gguf"));
  if (process.platform !== "darwin") {
    const truths = card(page, "Predicted, planned, observed");
    await expect(truths).toContainText("A plan needs a Mac with Core ML");
    await expect(truths.getByRole("button", { name: /Ask Core ML/ })).toHaveCount(0);
  }
  const mlx = card(page, "And on MLX instead?");
  await mlx.getByRole("button", { name: "Show what MLX would do" }).click();
  await expect(mlx).toContainText(/\d+ native, .+ decomposed, none unsupported/);
  await expect(mlx).toContainText(/affine, 8 bits.*exact/s);
  await expect(mlx).toContainText(/No time: MLX (was not measured|is not here)/);
  await mlx.scrollIntoViewIfNeeded();
  await picture(page, "routing-mlx");
  expect(await axeFindings(page)).toEqual([]);

  // From a kind of op to the first of it, in the graph, coloured by what MLX does.
  await mlx.getByRole("button", { name: "linear" }).first().click();
  await expect(tab(page, "Graph")).toHaveAttribute("aria-selected", "true");
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByRole("region", { name: "Predicted, planned, observed" })).toContainText(
    /On MLX.*(native|decomposed)/s,
  );
  await page.getByRole("application").first().focus();
  await page.keyboard.press("l");
  await expect(page.getByText("native on MLX")).toBeVisible();
  await picture(page, "graph-mlx");
  expect(errors).toEqual([]);
});

test("the table of targets and the advice are walked by keys; an advice is previewed and applied", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "advice.gguf"));
  const targets = page.getByRole("table", { name: "How fast on each target" }).getByRole("button");
  await expect(page.getByRole("table", { name: "How fast on each target" })).toHaveAttribute("aria-busy", "false");
  await targets.first().focus();
  await page.keyboard.press("ArrowDown");
  await expect(targets.nth(1)).toBeFocused();
  await page.keyboard.press("End");
  await expect(targets.last()).toBeFocused();
  await page.keyboard.press("Home");
  await expect(targets.first()).toBeFocused();

  const list = page.getByRole("navigation").getByRole("region", { name: "Advice" });
  const row = list.getByRole("button", { name: /compute units/i }).first();
  await expect(row).toBeVisible();
  await list.getByRole("button").last().focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 12 && !(await row.evaluate((each) => each === document.activeElement)); i++)
    await page.keyboard.press("ArrowDown");
  await expect(row).toBeFocused();
  await page.keyboard.press("Enter");
  const card = page.getByRole("region", { name: "What would make it faster?" });
  const open = card.getByRole("listitem").filter({ has: page.locator('[aria-expanded="true"]') });
  await expect(open).toContainText("Not measured here");
  await open.getByRole("button", { name: "Preview" }).press("Enter");
  await expect(open.getByRole("table")).toContainText("Bytes moved");
  expect(await lookAt(page, "advice")).toEqual([]);
  await open.getByRole("button", { name: "Apply" }).press("Enter");
  // What was applied is the target now, and no advice any more.
  await expect(row).toHaveCount(0);
  expect(errors).toEqual([]);
});

test("another target moves ops to other devices, and back", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "target.gguf"));
  await showTab(page, "Graph");
  await expect.poll(() => legend(page)).toMatch(/ANE[^]*CPU/);
  const here = await legend(page);
  const target = page.getByRole("button", { name: "Runs on" });
  const pick = async (field: RegExp, value: string): Promise<void> => {
    await target.click();
    await page.getByRole("combobox", { name: field }).selectOption(value);
    await page.keyboard.press("Escape");
  };
  await pick(/^Compute units/, "cpu");
  await expect.poll(() => legend(page)).not.toContain("ANE");
  await picture(page, "target-cpu-graph");
  await pick(/^Compute units/, "cpu-ane");
  await expect.poll(() => legend(page)).toBe(here);
  expect(errors).toEqual([]);
});

test.describe("over the double of Core ML", () => {
  // Setup builds it: in CI its absence is a failure, not a skip.
  test.skip(noDouble !== undefined && process.env["CI"] !== "true", "the double of Core ML is not built");
  let served: ServedWorkbench;
  test.beforeAll(async () => {
    served = await serveWorkbench({
      RLX_HOME: join(own.folder(), "double"),
      RLX_COREML_ADDON: doubleModule(),
      RLX_COREML_UNITS: "all",
    });
  });
  test.afterAll(() => served.stop());

  test("the plan beside the prediction", async ({ page }) => {
    test.setTimeout(180_000);
    const errors = await openLook(page, await served.address(), LOOKS.leastDark);
    await openPath(page, sampleCopy(own.folder(), "plan.gguf"));
    const truths = card(page, "Predicted, planned, observed");
    await truths.getByRole("button", { name: "Ask Core ML for its plan" }).click();
    await expect(truths).toContainText(/of \d+ operators as predicted/, { timeout: 120_000 });
    await expect(truths).toContainText("The system was simulated.");
    await expect(truths.getByRole("columnheader", { name: "planned" }).first()).toBeVisible();
    const first = truths.getByRole("alert");
    await expect(first).toContainText(/The first difference: .+ planned on .+, predicted on .+ Our reason: .+/);
    await truths.scrollIntoViewIfNeeded();
    await picture(page, "routing-planned");
    expect(await axeFindings(page)).toEqual([]);

    await first.getByRole("button", { name: "Show this op" }).click();
    await expect(tab(page, "Graph")).toHaveAttribute("aria-selected", "true");
    const beside = page
      .getByRole("complementary", { name: "Inspector" })
      .getByRole("region", { name: "Predicted, planned, observed" });
    await expect(beside).toContainText(/planned on .+, predicted on/);
    await expect(page.getByRole("img", { name: /^planned on/ }).first()).toBeVisible();
    await picture(page, "graph-planned-beside");
    await page.getByRole("application").first().focus();
    await page.keyboard.press("Shift+P");
    await picture(page, "graph-planned");
    expect(errors).toEqual([]);
  });

  test("the button that stops the plan stays where it is while the clock beside it grows", async ({ page }) => {
    // The answer waits until the picture is taken.
    let held = false;
    await page.routeWebSocket(/./, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => (held ? undefined : socket.send(message)));
    });
    await page.setViewportSize({ width: 1000, height: 640 });
    await openWindow(page, await served.address());
    await openPath(page, sampleCopy(own.folder(), "stop.gguf"));
    const truths = card(page, "Predicted, planned, observed");
    const ask = truths.getByRole("button", { name: "Ask Core ML for its plan" });
    await expect(ask).toBeVisible();
    await expect(page.getByText("of predicted time").first()).toBeVisible();
    held = true;
    await ask.click();
    const stop = truths.getByRole("button", { name: "Stop", exact: true });
    const first = await stop.boundingBox();
    await expect(truths.getByRole("status")).toHaveText(/\d\ss$/);
    await picture(page, "routing-waiting");
    expect(await stop.boundingBox()).toEqual(first);
  });

  test("runs beside the CPU, is measured and recorded, and is called simulated everywhere", async ({ page }) => {
    test.setTimeout(240_000);
    const errors = await openWindow(page, await served.address());
    await openPath(page, sampleCopy(own.folder(), "double.gguf"));
    const run = await showTab(page, "Run");
    await run.getByRole("button", { name: "Add a column" }).click();
    await run.getByRole("button", { name: /^Device of column 2/ }).click();
    await page.getByRole("radiogroup", { name: "Device of column 2" }).getByRole("radio", { name: /^CPU/ }).check();
    await page.keyboard.press("Escape");
    await run.getByLabel("Temperature").fill("0");
    await run.getByText("Text", { exact: true }).click();
    await page.locator("#composer").fill("One and two");
    await page.keyboard.press("Enter");
    await expect(run.getByRole("button", { name: "Send", exact: true })).toBeVisible({ timeout: 120_000 });
    const column = run.getByRole("region", { name: "Core ML", exact: true });
    await expect(column).toContainText("on Core ML");
    await expect(column).toContainText("simulated");
    // The sentence of the double is long: it gives way, and runs over nothing that stands beside it.
    const foot = page.getByRole("contentinfo").locator(":scope > *");
    expect(await foot.evaluateAll(overrun)).toEqual([]);
    await picture(page, "double-side-by-side");

    for (const [name, label, start] of [
      ["Bench", "Measured on", "Measure"],
      ["Profile", "Recorded on", "Record"],
    ] as const) {
      const panel = await showTab(page, name);
      await panel.getByRole("button", { name: new RegExp(`^${label}`) }).click();
      await page
        .getByRole("radiogroup", { name: label })
        .getByRole("radio", { name: /^Core ML$/ })
        .check();
      await page.keyboard.press("Escape");
      await panel.getByLabel("Prompt tokens").fill("8");
      await panel.getByLabel(name === "Bench" ? "Generated tokens" : "Tokens to write").fill("4");
      if (name === "Bench") await panel.getByRole("spinbutton", { name: "Repeats" }).fill("2");
      await panel.getByRole("button", { name: start, exact: true }).click();
      await expect(panel.getByText("simulated").first()).toBeVisible({ timeout: 120_000 });
      await picture(page, `double-${name.toLowerCase()}`);
    }
    // What was recorded is evidence, and stands beside prediction and plan under its own name.
    await showTab(page, "Overview");
    await expect(card(page, "Predicted, planned, observed")).toContainText(/a token on Core ML/);
    expect(errors).toEqual([]);
  });
});
