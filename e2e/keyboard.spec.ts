/** The whole journey by keyboard alone: no mouse, no focus set by the test, and wherever the focus is, it can be seen. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import {
  answerOf,
  engineReady,
  legend,
  LOOKS,
  openLook,
  MODEL_TABS,
  openWindow,
  palette,
  sampleCopy,
  startReady,
  tab,
  view,
} from "./workbench.ts";

const own = ownWorkbench();

/** A button further away than this is not reachable by keyboard. */
const MOST_STOPS = 25;

/** Tabs on until the focus is there; every stop on the way has to show that it has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
    expect(await hiddenFocus(page)).toBe("");
  }
  throw new Error(`not reached by ${MOST_STOPS} stops`);
}

/** The focused element if no focus ring is visible on it or around it, in one of the themes; empty if one is. */
const hiddenFocus = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const focused = document.activeElement;
    if (!(focused instanceof HTMLElement) || focused === document.body) return "";
    const isShown = (): boolean => {
      for (
        let element: Element | null = focused, i = 0;
        element !== null && i < 4;
        element = element.parentElement, i++
      ) {
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        if (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) return true;
        // A line between panes gets thicker instead.
        if (!/^rgba\(.*, 0\)$|transparent/.test(getComputedStyle(element, "::after").backgroundColor)) return true;
      }
      return false;
    };
    const { dataset } = document.documentElement;
    const shown = dataset["theme"];
    const hidden = ["light", "dark"].filter((theme) => {
      dataset["theme"] = theme;
      return !isShown();
    });
    dataset["theme"] = shown;
    return hidden.length === 0 ? "" : `${hidden.join(" and ")}: ${focused.outerHTML.slice(0, 200)}`;
  });

test("from a picked file to an exported package, by keyboard alone", async ({ page }) => {
  test.setTimeout(180_000);
  // Wait for the picker first: Playwright only notices pickers that open after this call.
  page.on("filechooser", () => undefined);
  const errors = await openLook(page, await own.address(), LOOKS.usualDark);
  await startReady(page);

  await test.step("a file is picked, and sent to the engine", async () => {
    const chosen = page.waitForEvent("filechooser");
    await page.keyboard.press("Control+O");
    await (await chosen).setFiles(sampleCopy(own.folder(), "picked.gguf"));
    await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
    const send = page.getByRole("button", { name: "Send the file to the engine" }).first();
    await tabTo(page, send);
    await page.keyboard.press("Enter");
    await expect(send).toBeHidden();
    await expect(page.getByRole("tabpanel", { name: "Overview" })).toContainText("tokenizer.ggml.model");
  });

  await test.step("the graph is walked, opened and searched", async () => {
    await view(page, "Alt+3", "Graph");
    const cards = page.locator(".react-flow__node");
    await expect(cards.first()).toBeVisible();
    await expect(page.locator("[data-graph-canvas]")).toBeFocused();
    const folded = await cards.count();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => cards.count()).toBeGreaterThan(folded);
    await page.keyboard.press("Shift+E");
    await page.keyboard.press("Control+F");
    await expect(page.getByLabel("Search the graph")).toBeFocused();
    await page.keyboard.type("op:attention");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Why here?")).toBeVisible();
  });

  await test.step("the prediction is made for another Mac, and back", async () => {
    await expect.poll(() => legend(page)).toMatch(/ANE[^]*CPU/);
    const here = await legend(page);
    await palette(page, "target");
    const chip = page.getByRole("combobox", { name: /^Chip/ });
    await tabTo(page, chip);
    await expect(chip).toHaveValue("m4");
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowUp");
    await expect(chip).toHaveValue("m1");
    // Its Neural Engine has no sine and cosine. While the new route is found there is no legend, which is no answer.
    await expect.poll(() => legend(page).then((text) => text !== "" && text !== here)).toBe(true);
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => legend(page)).toBe(here);
    await page.keyboard.press("Escape");
    await expect(chip).toBeHidden();
  });

  await test.step("an answer is asked for and stopped", async () => {
    await palette(page, "run");
    await expect(tab(page, "Run")).toHaveAttribute("aria-selected", "true");
    // The composer has the focus at once.
    await expect(page.locator("#composer")).toBeFocused();
    await page.keyboard.type("Tell me a story.");
    await page.keyboard.press("Enter");
    const turn = page.getByRole("article");
    // A speed stands there from the first token on; the prompt itself stands there at once.
    await expect(turn).toContainText(/\d\st\/s/);
    await page.keyboard.press("Control+.");
    await expect(page.getByRole("tabpanel").getByRole("button", { name: "Send", exact: true })).toBeVisible();
    await expect(answerOf(turn)).toContainText(/\w{3,}/);
    await expect(turn.getByRole("alert")).toHaveCount(0);
    await expect(page.locator("#composer")).toBeFocused();
  });

  await test.step("a benchmark is set and measured", async () => {
    const panel = await view(page, "Alt+7", "Bench");
    for (const [label, value] of [
      ["Prompt tokens", "32"],
      ["Generated tokens", "8"],
      ["Repeats", "3"],
    ] as const) {
      await tabTo(page, panel.getByLabel(label));
      await page.keyboard.press("Control+A");
      await page.keyboard.type(value);
    }
    await tabTo(page, panel.getByRole("button", { name: "Measure", exact: true }));
    await page.keyboard.press("Enter");
    await expect(panel.getByRole("region", { name: "Result" })).toContainText(/\d\st\/s/, { timeout: 60_000 });
  });

  await test.step("a profile is recorded and its tokens are walked", async () => {
    const panel = await view(page, "Alt+8", "Profile");
    await tabTo(page, panel.getByRole("button", { name: "Record", exact: true }));
    await page.keyboard.press("Enter");
    await expect(panel.getByRole("region", { name: "By operation, table" })).toContainText("linear", {
      timeout: 60_000,
    });
    await expect(page.getByRole("region", { name: "Where one token goes" })).toBeVisible();
  });

  await test.step("the package is written where it was asked for", async () => {
    const panel = await view(page, "Alt+9", "Export");
    const path = join(own.folder(), "picked.mlpackage");
    await tabTo(page, panel.getByLabel("Where to write the package"));
    await page.keyboard.press("Control+A");
    await page.keyboard.type(path);
    await tabTo(page, panel.getByRole("button", { name: "Export", exact: true }));
    await page.keyboard.press("Enter");
    await expect(panel.getByRole("region", { name: "Report" })).toContainText("Written in", { timeout: 120_000 });
    expect(existsSync(join(path, "Manifest.json"))).toBe(true);
  });
  expect(errors).toEqual([]);
});

test("a path is typed, the tabs are walked by arrows, the log says how to repeat it, the model is closed", async ({
  page,
}) => {
  const path = sampleCopy(own.folder(), "typed.gguf");
  await openWindow(page, await own.address());
  await palette(page, "open a path");
  await expect(page.getByLabel(/Path of a GGUF/)).toBeFocused();
  await page.keyboard.type(path);
  await page.keyboard.press("Enter");
  await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
  // What was opened has the focus; the views are one step back.
  await page.keyboard.press("Shift+Tab");
  await expect(tab(page, "Overview")).toBeFocused();
  // The arrow goes round.
  for (const name of [...MODEL_TABS.slice(1), MODEL_TABS[0]]) {
    await page.keyboard.press("ArrowRight");
    await expect(tab(page, name)).toBeFocused();
    await expect(tab(page, name)).toHaveAttribute("aria-selected", "true");
  }
  await page.keyboard.press("Control+J");
  await expect(page.getByRole("region", { name: "Log" })).toContainText("rlx inspect");
  await page.keyboard.press("Control+J");
  await expect(page.getByRole("region", { name: "Log" })).toBeHidden();
  await palette(page, "close the model");
  await expect(page.getByText("Drop a model anywhere")).toBeVisible();
  await engineReady(page);
});
