/** What the specs share: the browser's own drop of a file on disk, a finished window, axe, and pictures to look at. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect } from "@playwright/test";
import { isCi } from "../scripts/lib/process.mjs";
import { root } from "./serve.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const pictures = join(root, "e2e", "screenshots");

/** A copy of the trained sample under another name, so that the engine cannot know where it lies. */
export function sampleCopy(folder: string, name: string): string {
  const models = join(root, "assets", "models");
  const sample = readdirSync(models).find((file) => file.endsWith(".gguf"));
  if (sample === undefined) throw new Error(`no sample model in ${models}`);
  const path = join(folder, name);
  copyFileSync(join(models, sample), path);
  return path;
}

/** Drops a file as the system would: the page gets a File that is read from disk, not one made in memory. */
export const dropFile = (page: Page, path: string, at?: { readonly x: number; readonly y: number }): Promise<void> =>
  dropFiles(page, [path], at);

/** Several files at once, or folders. */
export async function dropFiles(page: Page, paths: readonly string[], at = { x: 300, y: 300 }): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, ...at, data });
  await session.detach();
}

/** Drops it, and sends it to the engine, which cannot know where it lies. */
export async function dropAndSend(page: Page, path: string): Promise<Locator> {
  await startReady(page);
  await dropFile(page, path);
  await expect(tab(page, "Overview")).toHaveAttribute("aria-selected", "true");
  const send = page.getByRole("button", { name: "Send the file to the engine" }).first();
  await send.click();
  await expect(send).toBeHidden();
  return page.getByRole("tabpanel");
}

export type Theme = "light" | "dark";
export interface Look {
  readonly theme: Theme;
  readonly width: number;
  readonly height: number;
}
/**
 * The least and the usual size of the window, in each theme. A spec goes its way in one of them: what a window does is the same in
 * all. `axeFindings` sees what is shown in both themes, and sizes.spec.ts every view in every size.
 */
export const LOOKS = {
  leastLight: { theme: "light", width: 1000, height: 640 },
  leastDark: { theme: "dark", width: 1000, height: 640 },
  usualLight: { theme: "light", width: 1440, height: 900 },
  usualDark: { theme: "dark", width: 1440, height: 900 },
} as const satisfies Readonly<Record<string, Look>>;

/** Opens the window in one look; a page error anywhere fails the spec that asks for the list. */
export async function openLook(page: Page, url: string, { theme, width, height }: Look): Promise<string[]> {
  await page.setViewportSize({ width, height });
  return openWindow(page, url, theme);
}

/** Opens the window with a fixed theme; a page error anywhere fails the spec that asks for the list. */
export async function openWindow(page: Page, url: string, theme: Theme = "light"): Promise<string[]> {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.addInitScript((chosen) => localStorage.setItem("rlx.theme", chosen), theme);
  await page.goto(url);
  await engineReady(page);
  return errors;
}

/** What the first screen offers to try; a kept session of it has the same name elsewhere on the screen. */
export const offered = (page: Page, name: RegExp): Locator =>
  page.getByRole("region", { name: "Try it now" }).getByRole("button", { name }).first();

/** The first screen with everything that comes later than its frame. */
export const startReady = (page: Page): Promise<void> => expect(offered(page, /Header only, 1B/)).toBeVisible();

export const engineReady = (page: Page): Promise<void> =>
  expect(page.getByRole("contentinfo").getByText("Engine ready")).toBeVisible();

export const tab = (page: Page, name: string): Locator => page.getByRole("tab", { name, exact: true });

/** Those of a model that writes text, in order. */
export const MODEL_TABS = [
  "Overview",
  "Tensors",
  "Graph",
  "Pipeline",
  "Run",
  "Bench",
  "Profile",
  "Export",
  "Compare",
  "Train",
  "Server",
] as const;

/** By the keyboard: the best command for the words. */
export async function palette(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+K");
  await expect(page.getByRole("combobox", { name: "Command" })).toBeFocused();
  await page.keyboard.type(words);
  await page.keyboard.press("Enter");
}

/** By its key. */
export async function view(page: Page, key: string, name: string): Promise<Locator> {
  await page.keyboard.press(key);
  await expect(tab(page, name)).toHaveAttribute("aria-selected", "true");
  return page.getByRole("tabpanel", { name });
}

export async function showTab(page: Page, name: string): Promise<Locator> {
  await tab(page, name).click();
  const panel = page.getByRole("tabpanel", { name });
  await expect(panel).toBeVisible();
  return panel;
}

/** Makes another runtime the subject of the window. */
export async function runOn(page: Page, runtime: string): Promise<void> {
  await page.getByRole("button", { name: "Runs on" }).click();
  await page.getByRole("radiogroup", { name: "Runtime" }).getByRole("radio", { name: runtime }).click();
  await page.keyboard.press("Escape");
}

/** Opens a file by the path form of the first screen. */
export async function openPath(page: Page, path: string): Promise<void> {
  await startReady(page);
  await page.getByRole("button", { name: "Paste a path" }).click();
  await page.getByLabel(/Path of a GGUF/).fill(path);
  await page.keyboard.press("Enter");
  await expect(tab(page, "Overview")).toBeVisible();
}

/** Fills in a write form and waits for its report. */
export async function write(page: Page, kind: string, verb: string, path: string): Promise<Locator> {
  const panel = await showTab(page, "Export");
  await panel.getByRole("radio", { name: kind }).click();
  const where = panel.getByLabel(/^Where to write/);
  await expect(where).not.toHaveValue("");
  await where.fill(path);
  await panel.getByRole("button", { name: verb, exact: true }).click();
  await expect(panel.getByRole("region", { name: "Report" })).toContainText("Written in", { timeout: 60_000 });
  return panel;
}

/** The devices of the graph's legend with their counts. */
export const legend = async (page: Page): Promise<string> =>
  (await page.locator('button[title^="Only "]').allInnerTexts()).join(" ");

/** The Run tab, where a text is gone on with by eight tokens. */
export async function eightTokens(page: Page): Promise<Locator> {
  const panel = await showTab(page, "Run");
  await panel.getByText("Text", { exact: true }).click();
  await page.getByRole("button", { name: "Sampling parameters" }).click();
  await page.getByLabel("Max tokens").fill("8");
  await page.keyboard.press("Escape");
  return panel;
}

/** What the model wrote, without the prompt above it and the numbers below. */
export const answerOf = (turn: Locator | Page): Locator => turn.locator("[data-answer]");

/** Changes the theme as the window itself does, and waits until canvases are drawn again. */
async function setTheme(page: Page, theme: Theme): Promise<void> {
  await page.evaluate(async (wanted) => {
    document.documentElement.dataset["theme"] = wanted;
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  }, theme);
}

const themeOf = (page: Page): Promise<Theme> =>
  page.evaluate(() => (document.documentElement.dataset["theme"] === "light" ? "light" : "dark"));

/** What `act` gives in the theme that is shown and in the other one, which is shown for as long as it takes. */
async function inBothThemes<T>(page: Page, act: (theme: Theme, isOther: boolean) => Promise<T>): Promise<[T, T]> {
  const shown = await themeOf(page);
  const other = shown === "light" ? "dark" : "light";
  const first = await act(shown, false);
  await setTheme(page, other);
  const second = await act(other, true);
  await setTheme(page, shown);
  return [first, second];
}

/** CI takes no pictures unless asked: they are a tenth of the time. */
const takesPictures = !isCi || process.env["RLX_PICTURES"] === "1";

/** In both themes. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!takesPictures) return;
  mkdirSync(pictures, { recursive: true });
  await inBothThemes(page, (theme) => page.screenshot({ path: join(pictures, `${name}-${theme}.png`) }));
}

interface AxeFinding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Serious and critical findings of axe for what is shown now, one line each. */
export async function axeFindings(page: Page, themes: "both" | "shown" = "both"): Promise<string[]> {
  // Evaluated rather than added as a script: the page's policy forbids inline scripts, and should. Once in a page: it is half a megabyte.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeScript());
  if (themes === "shown") return findingsIn(page, await themeOf(page), false);
  const found = await inBothThemes(page, (theme, isOther) => findingsIn(page, theme, isOther));
  return found.flat();
}
let axeText: string | undefined;
const axeScript = (): string => (axeText ??= readFileSync(axePath, "utf8"));

/** `onlyColours`: what else axe asks is the same in both themes. */
async function findingsIn(page: Page, theme: Theme, onlyColours: boolean): Promise<string[]> {
  const violations = await page.evaluate(
    async (rules) => {
      const { axe } = globalThis as unknown as {
        readonly axe: { run(options: object): Promise<{ readonly violations: readonly AxeFinding[] }> };
      };
      // What passed, and where, is not asked.
      const few = { resultTypes: ["violations"] };
      return (await axe.run(rules === undefined ? few : { ...few, runOnly: { type: "rule", values: rules } }))
        .violations;
    },
    onlyColours ? ["color-contrast", "link-in-text-block"] : undefined,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, impact, nodes }) =>
      nodes.map((node) => `${theme}: ${impact ?? ""} ${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
}

export async function resize(page: Page, width: number, height: number): Promise<void> {
  await page.setViewportSize({ width, height });
  // Widths are measured by observers, which are a frame late.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** The least, the usual and a large window. */
const STATION_SIZES = [
  [1000, 640],
  [1440, 900],
  [2560, 1440],
] as const;

/**
 * What the window shows, in three sizes and both themes, without opening it again: pictures to look at, and what is wrong: serious
 * findings of axe in the size that it has, anything wider than a window.
 */
export async function station(page: Page, name: string): Promise<string[]> {
  const own = page.viewportSize();
  const found = (await axeFindings(page)).map((line) => `${name}: ${line}`);
  for (const [width, height] of STATION_SIZES) {
    await resize(page, width, height);
    await picture(page, `${name}-${width}`);
    found.push(...(await sticksOut(page)).map((line) => `${name}, ${width}: ${line}`));
  }
  if (own !== null) await page.setViewportSize(own);
  return found;
}

async function sticksOut(page: Page): Promise<string[]> {
  const { scroll, client } = await page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    client: document.documentElement.clientWidth,
  }));
  return scroll > client ? [`${scroll} pixels in a window of ${client}`] : [];
}

/** A picture to look at, and what is wrong with what it shows: serious findings of axe, anything wider than the window. */
export async function lookAt(page: Page, name: string): Promise<string[]> {
  await picture(page, name);
  const found = (await axeFindings(page)).map((line) => `${name}: ${line}`);
  return [...found, ...(await sticksOut(page)).map((line) => `${name}: ${line}`)];
}
