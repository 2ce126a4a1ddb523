/**
 * Every view in the widths from a zoom of 200 % to a large window: nothing is cut off without dots, nothing sticks out of its card,
 * no table has to be scrolled sideways, and axe finds nothing. And every panel that opens over a view, looked at by axe. The other
 * specs go their ways in one size each, because this one sees the views in all of them.
 */
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import {
  axeFindings,
  MODEL_TABS,
  offered,
  openPath,
  openWindow,
  picture,
  resize,
  sampleCopy,
  showTab,
  startReady,
} from "./workbench.ts";

const own = ownWorkbench();

// The longest file, and the last but a few: both workers take its tests.
test.describe.configure({ mode: "parallel" });

const SIZES = [
  // The usual window at a zoom of 200 %.
  [720, 450],
  [1000, 640],
  [1090, 700],
  [1180, 760],
  [1280, 800],
  [1366, 768],
  [1920, 1080],
] as const;

/** Text that is not seen whole, one line each: "24 px: 279 KB". Text that ends in dots says so itself. */
const cutText = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found: string[] = [];
    // An element holds many texts: its style is asked once.
    const styles = new Map<Element, CSSStyleDeclaration>();
    const styleOf = (element: Element): CSSStyleDeclaration => {
      const known = styles.get(element) ?? getComputedStyle(element);
      styles.set(element, known);
      return known;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      if (element === null || (node.textContent ?? "").trim() === "") continue;
      // Program text is scrolled, and the graph is a plane that is moved.
      if (element.closest("pre, svg, .monaco-editor, .monaco-diff-editor, .react-flow, .visually-hidden")) continue;
      range.selectNodeContents(node);
      const { left, right, width, height } = range.getBoundingClientRect();
      if (width === 0 || height === 0 || !element.checkVisibility({ visibilityProperty: true })) continue;
      // Dots are for the text of a block itself, not for that of a block in it.
      let inBlock = false;
      for (let box: Element | null = element; box !== null; box = box.parentElement) {
        const style = styleOf(box);
        const dots = style.textOverflow === "ellipsis" && !inBlock;
        inBlock ||= !style.display.startsWith("inline");
        const clips = style.overflowX !== "visible";
        if (!clips && box.tagName !== "SECTION") continue;
        const edge = box.getBoundingClientRect();
        const out = Math.max(right - edge.right, edge.left - left);
        if (out > 1) {
          if (!dots) found.push(`${Math.round(out)} px: ${node.textContent?.trim()}`);
          break;
        }
      }
    }
    return found;
  });

test("nothing is cut off or sticks out, in every view and width", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openWindow(page, await own.address(), "dark");
  await startReady(page);
  const found: string[] = [];
  const look = async (view: string): Promise<void> => {
    for (const [width, height] of SIZES) {
      await resize(page, width, height);
      const cut = await cutText(page);
      if (cut.length > 0) await picture(page, `cut-${view}-${width}`);
      found.push(...cut.map((line) => `${view}, ${width}×${height}: ${line}`));
    }
    // The journey asks axe in the least window and in both themes; what is only there in a wider one is seen here.
    await resize(page, 1440, 900);
    found.push(...(await axeFindings(page, "shown")).map((line) => `${view}: ${line}`));
  };
  await look("start");
  await offered(page, /^The sample model/).click();
  await expect(page.getByText("of predicted time").first()).toBeVisible();
  for (const tab of MODEL_TABS) {
    const panel = await showTab(page, tab);
    if (tab === "Run") {
      await panel.getByLabel("Your message").fill("Tell me a story.");
      await page.keyboard.press("Enter");
      await expect(panel.getByRole("article")).toContainText(/\d\st\/s/);
      await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
    }
    if (tab === "Bench") {
      await panel.getByLabel("Prompt tokens").fill("16");
      await panel.getByLabel("Generated tokens").fill("4");
      const measure = panel.getByRole("button", { name: "Measure", exact: true });
      for (const results of [0, 2]) {
        await measure.click();
        await expect(measure).toBeVisible({ timeout: 60_000 });
        await expect(panel.getByRole("checkbox")).toHaveCount(results);
      }
      for (const tick of await panel.getByRole("checkbox").all()) await tick.check();
      // Their names differ, also where they ended in the same second.
      await expect(panel.getByRole("region", { name: "Bench 1 against Bench 2" })).toBeVisible();
      await page.setViewportSize({ width: 1000, height: 640 });
      const intervals = panel.getByText(/^median of 6, 95 % interval \d/);
      await expect(intervals).toHaveCount(2);
      // One line each, in the least window too.
      for (const interval of await intervals.all()) expect((await interval.boundingBox())?.height).toBeLessThan(24);
    }
    if (tab === "Profile") {
      await panel.getByRole("button", { name: "Record", exact: true }).click();
      await expect(panel.getByText("GB/s").first()).toBeVisible({ timeout: 60_000 });
    }
    if (tab === "Compare")
      await expect(panel.getByRole("region", { name: "In words" })).toBeVisible({ timeout: 60_000 });
    await look(tab);
    if (tab === "Run") {
      await panel.getByRole("button", { name: /history|earlier/i }).click();
      await expect(page.getByRole("region", { name: "Earlier runs" })).toBeVisible();
      await look("history");
    }
  }
  expect(found).toEqual([]);
  expect(errors).toEqual([]);
});

test("the long tables keep their edge and need no scrolling sideways, at every width, beside a scrollbar", async ({
  page,
}) => {
  test.setTimeout(120_000);
  await page.setViewportSize({ width: 1440, height: 700 });
  await openWindow(page, await own.address(), "dark");
  await openPath(page, sampleCopy(own.folder(), "wide.gguf"));
  const view = page.getByRole("tabpanel");
  const widthIn = async (window: number): Promise<number> => {
    await resize(page, window, 700);
    return view.evaluate((each) => each.getBoundingClientRect().width);
  };
  const [least, most] = [await widthIn(1000), await widthIn(1440)];
  expect(most - least).toBeGreaterThan(200);
  /**
   * Tables whose last column is nearer to the scrollbar than 14 pixels, between the least window and one with room for all. The view
   * alone is made narrower: a table knows no more of the window, which would be drawn a hundred times.
   */
  const sweep = async (name: string): Promise<string[]> => {
    const table = page.getByRole("table", { name });
    await expect(table.getByRole("row").nth(5)).toBeVisible();
    // Playwright hides scrollbars: a border takes as much room.
    await table.evaluate((each) => void (each.style.borderRight = "15px solid"));
    return view.evaluate(
      async (each, { from, to, named }) => {
        const rows = `[role="table"][aria-label="${named}"]`;
        const frame = (): Promise<number> => new Promise(requestAnimationFrame);
        const room = (): number => {
          const scroller = each.querySelector(rows);
          if (scroller === null) return Number.NaN;
          const edge = scroller.getBoundingClientRect().left + scroller.clientLeft + scroller.clientWidth;
          const ends = [...scroller.querySelectorAll('[role="row"]')].map(
            ({ lastElementChild }) => lastElementChild?.getBoundingClientRect().right ?? 0,
          );
          return edge - Math.max(...ends);
        };
        const isWide = (): boolean => Math.round(room()) >= 14;
        const found: string[] = [];
        for (let width = from; width <= to; width += 2) {
          each.style.width = `${width}px`;
          // Widths are measured by observers, which are a frame late; more on a busy machine.
          for (let frames = 0; frames < 2 || (frames < 12 && !isWide()); frames++) await frame();
          if (!isWide()) found.push(`${named}: ${room()} pixels in a view of ${width}`);
        }
        each.style.width = "";
        return found;
      },
      { from: least, to: most, named: name },
    );
  };
  await showTab(page, "Tensors");
  const tensors = await sweep("Tensors");
  const panel = await showTab(page, "Export");
  await panel.getByLabel("Where to write the package").fill(join(own.folder(), "wide.mlpackage"));
  await panel.getByRole("button", { name: "Export", exact: true }).click();
  await expect(panel.getByRole("region", { name: "Report" })).toBeVisible({ timeout: 60_000 });
  expect([...tensors, ...(await sweep("Weights"))]).toEqual([]);
});

test("what could not be opened is said on the screen, also in the smallest window below many recent files", async ({
  page,
}) => {
  await page.setViewportSize({ width: 1000, height: 640 });
  await openWindow(page, await own.address(), "dark");
  for (const name of ["one.gguf", "two.gguf", "three.gguf"]) {
    await openPath(page, sampleCopy(own.folder(), name));
    await page.keyboard.press("Control+Shift+W");
    await startReady(page);
  }
  await expect(page.getByRole("button", { name: /three\.gguf/ }).first()).toBeVisible();
  await page.getByRole("button", { name: "Paste a path" }).click();
  await page.getByLabel(/Path of a GGUF/).fill(join(own.folder(), "nowhere.gguf"));
  await page.keyboard.press("Enter");
  await expect(page.getByText("nowhere.gguf could not be opened")).toBeVisible();
  await picture(page, "start-not-found");
  await expect(page.getByText("INPUT_NOT_FOUND")).toBeInViewport({ ratio: 1 });
  await expect(page.getByRole("button", { name: "Copy details" })).toBeInViewport({ ratio: 1 });
  // What does not fit below it is scrolled to, and lies under nothing else.
  const last = page.getByRole("button", { name: "New graph…" });
  await last.scrollIntoViewIfNeeded();
  const offers = page.getByRole("heading", { name: "Try it now" });
  const [above, below] = [(await last.boundingBox())!, (await offers.boundingBox())!];
  expect(above.y + above.height).toBeLessThanOrEqual(below.y);
});

/** By keyboard alone: what the window says of itself, and the licence texts of everything bundled. */
async function showLicences(page: Page): Promise<void> {
  await page.keyboard.press("Control+K");
  await page.keyboard.type("licences");
  await page.keyboard.press("Enter");
  const about = page.getByRole("dialog", { name: "About RLX Workbench" });
  await expect(about).toContainText(/Version \d+\.\d+/);
  await expect(about.getByRole("button", { name: "Third-party licences" })).toBeFocused();
  await page.keyboard.press("Enter");
  const texts = about.getByRole("region", { name: "Third-party licences" });
  await expect(texts).toBeFocused();
  // Ours, a package of the window and one of the engine.
  const text = await texts.innerText();
  for (const part of [/The RLX Workbench contributors/, /^react-dom \d/m, /^protobufjs \d/m])
    expect(text).toMatch(part);
}

test("what opens over a view has no serious findings", async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 640 });
  const errors = await openWindow(page, await own.address());
  await startReady(page);
  await offered(page, /^The sample model/).click();
  await expect(page.getByText("of predicted time").first()).toBeVisible();
  const found: string[] = [];
  const look = async (view: string): Promise<void> => {
    found.push(...(await axeFindings(page)).map((line) => `${view}: ${line}`));
    await picture(page, `over-${view}`);
    await page.keyboard.press("Escape");
  };
  await page.keyboard.press("Control+K");
  await expect(page.getByRole("combobox", { name: "Command" })).toBeFocused();
  await look("commands");
  await page.keyboard.press("Control+/");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await look("shortcuts");
  await showLicences(page);
  await look("about");
  await page.getByRole("button", { name: "Runs on" }).click();
  await expect(page.getByRole("combobox", { name: /^Chip/ })).toBeVisible();
  await look("target");
  const panel = page.getByRole("tabpanel", { name: "Overview" });
  await panel
    .getByRole("button", { name: /1024 elements/ })
    .first()
    .click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await look("value");
  await page.keyboard.press("Control+J");
  await expect(page.getByRole("region", { name: "Log" })).toBeVisible();
  await look("log");
  await showTab(page, "Run");
  await page.getByRole("button", { name: "Sampling parameters" }).click();
  await expect(page.getByLabel("Max tokens")).toBeVisible();
  await look("sampling");
  expect(found).toEqual([]);
  expect(errors).toEqual([]);
});
