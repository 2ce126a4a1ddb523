/**
 * The graph in the window, small and large. What is asserted here is structure: what is on the screen, what covers what, what
 * keys do, and how many elements there are however much of the graph is shown. Times are measured by bench/window.ts.
 */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, offered, openWindow, picture, runOn, showTab } from "./workbench.ts";

/** Of reference: cards near enough to be elements, and all elements of the page. */
const MOST_CARDS = 250;
const MOST_ELEMENTS = 3500;

const own = ownWorkbench();

interface Seen {
  readonly canvas: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
  readonly cards: readonly {
    readonly left: number;
    readonly top: number;
    readonly right: number;
    readonly bottom: number;
  }[];
  readonly toolsBottom: number;
  readonly toolsHeight: number;
  readonly zoom: number;
}

/** Where the cards are, in relation to the canvas and to the bar above it. */
const look = (page: Page): Promise<Seen> =>
  page.evaluate(() => {
    const rect = (element: Element | null) => {
      const { left, top, right, bottom } = element?.getBoundingClientRect() ?? new DOMRect();
      return { left, top, right, bottom };
    };
    const search = rect(document.querySelector("#graph-search"));
    const modes = rect(
      [...document.querySelectorAll('[aria-label="Colour by"], label:has(select)')].find(
        (each) => each.getBoundingClientRect().height > 0,
      ) ?? null,
    );
    const viewport = document.querySelector<HTMLElement>(".react-flow__viewport");
    return {
      canvas: rect(document.querySelector("[data-graph-canvas]")),
      cards: [...document.querySelectorAll(".react-flow__node")].map(rect),
      toolsBottom: Math.max(search.bottom, modes.bottom),
      toolsHeight: Math.max(search.bottom, modes.bottom) - Math.min(search.top, modes.top),
      zoom: new DOMMatrix(viewport?.style.transform).a,
    };
  });

/** Every card lies on the canvas and below the bar, which is one row; near enough to be read. */
async function expectWhole(page: Page, cards: number): Promise<void> {
  await expect.poll(async () => (await look(page)).cards.length).toBe(cards);
  await expect
    .poll(async () => {
      const { canvas, cards: all, toolsBottom } = await look(page);
      return all.filter(
        (card) =>
          card.left < canvas.left || card.right > canvas.right || card.top < toolsBottom || card.bottom > canvas.bottom,
      );
    })
    .toEqual([]);
  const { zoom, toolsHeight } = await look(page);
  expect(zoom).toBeGreaterThanOrEqual(0.7);
  expect(toolsHeight).toBeLessThan(44);
}

/** Cards of the folded graph: three inputs, positions, embedding, blocks (one or two boxes), norm and head. */
const FOLDED = { sample: 9, deep: 9 } as const;

async function openGraph(page: Page, offer: RegExp): Promise<string[]> {
  const errors = await openWindow(page, await own.address());
  await offered(page, offer).click();
  await showTab(page, "Graph");
  await expect(page.locator(".react-flow__node").first()).toBeVisible({ timeout: 60_000 });
  // The legend's buttons come with the route.
  await expect(page.getByTitle("Only Neural Engine (A)")).toBeVisible({ timeout: 60_000 });
  return errors;
}

test("the folded graph is seen whole, as cards, in the least window, and again in other sizes", async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 640 });
  const errors = await openGraph(page, /^The sample model/);
  await expectWhole(page, FOLDED.sample);
  await picture(page, "graph-1000");
  await page.setViewportSize({ width: 1440, height: 900 });
  await expectWhole(page, FOLDED.sample);
  await picture(page, "graph-1440");
  await page.setViewportSize({ width: 1180, height: 700 });
  await expectWhole(page, FOLDED.sample);
  // A view that the user has moved is left alone.
  const canvas = page.locator("[data-graph-canvas]");
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("the canvas has no box");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const lowest = ({ cards }: Seen): number => Math.max(...cards.map(({ top }) => top));
  const whole = lowest(await look(page));
  await page.mouse.wheel(0, 260);
  await expect.poll(async () => lowest(await look(page))).not.toBe(whole);
  const before = await look(page);
  await page.setViewportSize({ width: 1180, height: 760 });
  await expect.poll(async () => (await look(page)).canvas.bottom).toBeGreaterThan(before.canvas.bottom);
  // Its middle stays in the middle: every card moves by half of what the canvas has grown, at the same zoom.
  await expect
    .poll(async () => {
      const seen = await look(page);
      const growth = seen.canvas.bottom - seen.canvas.top - (before.canvas.bottom - before.canvas.top);
      const moved = lowest(seen) - lowest(before);
      return seen.zoom === before.zoom && growth > 0 && Math.abs(moved - growth / 2) < 1;
    })
    .toBe(true);
  expect(errors).toEqual([]);
});

test("the graph is walked, opened, searched and fitted by keys alone", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  const canvas = page.locator("[data-graph-canvas]");
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  // A key first: what is reached by keys shows that it has the focus.
  await page.getByLabel("Search the graph").focus();
  await page.keyboard.type("x");
  await page.keyboard.press("Escape");
  await canvas.evaluate((element: HTMLElement) => element.focus());
  expect(await canvas.evaluate((element) => getComputedStyle(element).outlineStyle)).toBe("solid");
  // From an input down to what reads it, to the blocks.
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
  await expect(page.locator("[aria-live=polite]").filter({ hasText: /norm|head|block/ })).not.toHaveCount(0);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(inspector.getByRole("heading", { level: 2 })).toContainText("block");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: /^Fold block/ })).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: /^Fold block/ })).toHaveCount(0);
  const zoom = (await look(page)).zoom;
  await page.keyboard.press("+");
  await expect.poll(async () => (await look(page)).zoom).toBeGreaterThan(zoom);
  await page.keyboard.press("f");
  await expectWhole(page, FOLDED.sample);
  await page.keyboard.press("/");
  await expect(page.getByLabel("Search the graph")).toBeFocused();
  // All of these stand in the list of shortcuts.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+/");
  for (const title of [
    "Go to the producer",
    "Open the selected group",
    "Up one level",
    "Search the graph",
    "Fit everything",
  ])
    await expect(page.getByRole("dialog").getByText(title)).toBeVisible();
});

test("a hop has the same numbers on its way through the window", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  const row = inspector.getByRole("button", { name: /values?, / }).last();
  const text = (await row.textContent()) ?? "";
  const [, values, bytes, seconds] = /(\d+) values?, ([\d.]+\s*[KM]?B).*?(~[\d.]+\s*[µm]?s)/.exec(text) ?? [];
  await row.click();
  await expect(inspector.getByRole("heading", { level: 2 })).toContainText("Hop");
  for (const number of [values, bytes, seconds])
    await expect(inspector.getByText(number ?? "?", { exact: true }).first()).toBeVisible();
  await inspector.getByRole("button", { name: "segment 3" }).click();
  await expect(
    inspector.getByRole("button", { name: `${values ?? ""} values, ${bytes ?? ""}, ${seconds ?? ""}` }),
  ).toBeVisible();
});

test("a pass is seen in the graph from both sides, change by change", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  await showTab(page, "Pipeline");
  await runOn(page, "CPU");
  await page
    .getByRole("listbox", { name: "Passes in order" })
    .getByRole("option", { name: /fuse gated linear/ })
    .click();
  await page.getByRole("button", { name: "Show in the graph" }).click();
  await expect(page.getByText(/^\D*4 changed/)).toBeVisible();
  await expect(page.getByRole("img", { name: "changed" })).toHaveCount(1);
  await page.locator("[data-graph-canvas]").focus();
  await page.keyboard.press("j");
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector.getByText("linear_block", { exact: true }).first()).toBeVisible();
  const stage = page.getByLabel("Stage of the graph").locator("option:checked");
  await expect(stage).toHaveText("After fuse gated linear");
  await picture(page, "graph-pass-after");
  await page.keyboard.press("x");
  await expect(page.getByText("Only changes of the pass")).toBeVisible();
  await picture(page, "graph-pass-only");
  await page.keyboard.press("x");
  await expect(page.getByText("Only changes of the pass")).toBeHidden();
  await page.keyboard.press("Shift+X");
  await expect(stage).toHaveText("Before fuse gated linear");
  await expect(page.getByRole("img", { name: "removed" })).not.toHaveCount(0);
  await picture(page, "graph-pass-before");
  await page.getByRole("button", { name: "Next change" }).click();
  await expect(inspector.getByRole("heading", { level: 2 })).toContainText("blk.1");
});

test("keys that are pressed while another stage is loaded count", async ({ page }) => {
  let held: (() => void)[] | undefined;
  await page.routeWebSocket(/./, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      const pass = (): void => socket.send(message);
      if (held === undefined) pass();
      else held.push(pass);
    });
  });
  await openGraph(page, /^The sample model/);
  const stage = page.getByLabel("Stage of the graph");
  await runOn(page, "CPU");
  await expect(stage.locator("option", { hasText: "After fuse attention" })).toBeAttached();
  const canvas = page.locator("[data-graph-canvas]");
  await canvas.focus();
  held = [];
  // The neighbour was fetched ahead; the ones behind it have to be asked for.
  await page.keyboard.press("[");
  await expect(stage).toHaveValue("mark regions");
  await page.keyboard.press("[");
  await expect(stage).toHaveValue("fuse attention");
  await page.keyboard.press("[");
  await expect(stage).toHaveValue("fuse norm");
  for (const pass of held) pass();
  held = undefined;
  await expect(canvas).toBeVisible();
  await expect(stage).toHaveValue("fuse norm");
});

test("the critical path stands out, hits are stepped through, and the inspector comes and goes by key", async ({
  page,
}) => {
  await openGraph(page, /^The sample model/);
  await page.locator("[data-graph-canvas]").focus();
  await page.keyboard.press("Shift+E");
  await page.keyboard.press("p");
  const path = page.getByText(/^Critical path: \d+ ops, ~\d/);
  await expect(path).toBeVisible();
  await picture(page, "graph-critical-path");
  await page.getByRole("button", { name: "Show everything again" }).click();
  await expect(path).toBeHidden();
  // The list of hits: arrows choose, a facet narrows down, Enter goes there.
  const search = page.getByLabel("Search the graph");
  await search.fill("attention");
  const hits = page.getByRole("listbox", { name: "What was found" });
  await page.getByRole("button", { name: /^block 2 \d/ }).click();
  await expect(search).toHaveValue("attention layer:2");
  await search.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(hits.getByRole("option").nth(1)).toHaveAttribute("aria-selected", "true");
  expect(await axeFindings(page)).toEqual([]);
  await picture(page, "graph-hits");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/^2 of \d/)).toBeVisible();
  // It does not lie over the op, and comes back by an arrow key.
  await expect(hits).toBeHidden();
  await page.keyboard.press("ArrowDown");
  await expect(hits.getByRole("option").nth(1)).toHaveAttribute("aria-selected", "true");
  await search.fill("op:attention_cached");
  await page.keyboard.press("Control+g");
  await expect(page.getByText(/^1 of \d/)).toBeVisible();
  await page.keyboard.press("Control+g");
  await expect(page.getByText(/^2 of \d/)).toBeVisible();
  await page.keyboard.press("Control+Shift+g");
  await expect(page.getByText(/^1 of \d/)).toBeVisible();
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await expect(inspector).toBeVisible();
  await page.locator("[data-graph-canvas]").focus();
  await page.keyboard.press("Space");
  await expect(inspector).toBeHidden();
  await page.keyboard.press("Space");
  await expect(inspector).toBeVisible();
  const stage = page.getByLabel("Stage of the graph").locator("option:checked");
  await page.keyboard.press("[");
  await expect(stage).toHaveText("After simplify");
  await page.keyboard.press("]");
  await expect(stage).toHaveText(/^Legal/);
});

test("the graph leaves as a picture, and numbers come back as node data", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  await page.getByRole("radio", { name: "Bytes" }).click();
  const save = async (press: () => Promise<void>): Promise<string> => {
    const [file] = await Promise.all([page.waitForEvent("download"), press()]);
    return (await file.path()) ?? "";
  };
  await page.getByRole("button", { name: "Save or overlay the graph" }).click();
  const menu = page.getByRole("dialog");
  const svg = readFileSync(await save(() => menu.getByRole("button", { name: "SVG" }).last().click()), "utf8");
  // As a viewer reads it: XML without an error, with the words of the cards.
  const read = await page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      faults: document.querySelectorAll("parsererror").length,
      words: [...document.querySelectorAll("text")].map((each) => each.textContent),
    };
  }, svg);
  expect(read.faults).toBe(0);
  expect(read.words).toEqual(expect.arrayContaining(["embedding", "head", expect.stringContaining("by bytes")]));
  const png = readFileSync(await save(() => menu.getByRole("button", { name: "PNG" }).first().click()));
  expect(png.subarray(1, 4).toString("latin1")).toBe("PNG");
  const data = await save(() => menu.getByRole("button", { name: "Save", exact: true }).click());
  await page.locator('input[type="file"][accept*="json"]').setInputFiles({
    name: "bytes.json",
    mimeType: "application/json",
    buffer: readFileSync(data),
  });
  await page.keyboard.press("Escape");
  await expect(page.getByText(/^bytes\.json: (\S+) of \1 entries named here/)).toBeVisible();
  await page.getByRole("button", { name: "Remove the node data" }).click();
  await expect(page.getByRole("radio", { name: "Device" })).toHaveAttribute("aria-checked", "true");
});

test("an op leads to its tensor, to its pass and to its lines of MIL", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await page.getByLabel("Search the graph").fill("op:attention_cached layer:1");
  await page.keyboard.press("Enter");
  await expect(inspector.getByText("value cache")).toBeVisible();
  await inspector.getByRole("button", { name: /^MIL .*softmax|^MIL .*matmul/ }).click();
  await expect(page.getByRole("tab", { name: "Pipeline" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByText("blk_1_attention_attention", { exact: false }).first()).toBeVisible();
  await showTab(page, "Graph");
  await page.getByLabel("Search the graph").fill("op:linear layer:2");
  await page.keyboard.press("Enter");
  const tensor = inspector.getByRole("button", { name: /^blk\.2\..*\.weight$/ }).first();
  const name = (await tensor.textContent()) ?? "?";
  await tensor.click();
  await expect(page.getByRole("tab", { name: "Tensors" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByLabel("Search the tensors")).toHaveValue(name);
});

test("time is coloured as measured only once something was measured", async ({ page }) => {
  await openGraph(page, /^The sample model/);
  await expect(page.getByRole("radio", { name: "Measured" })).toHaveCount(0);
  await showTab(page, "Profile");
  await page.getByRole("button", { name: "Record", exact: true }).click();
  await expect(page.getByText("GB/s").first()).toBeVisible({ timeout: 60_000 });
  await showTab(page, "Graph");
  await page.getByRole("radio", { name: "Measured" }).click();
  await expect(page.getByText(/of one token on this machine’s CPU, (9\d|100)/)).toBeVisible();
  await expect(page.getByRole("radio", { name: "Error" })).toHaveCount(0);
  await picture(page, "graph-measured");
});

async function expectFew(page: Page, what: string): Promise<void> {
  const [elements, cards] = await page.evaluate(() => [
    document.querySelectorAll("*").length,
    document.querySelectorAll(".react-flow__node").length,
  ]);
  expect(elements, `elements, ${what}`).toBeLessThanOrEqual(MOST_ELEMENTS);
  expect(cards, `cards, ${what}`).toBeLessThanOrEqual(MOST_CARDS);
}

test("400 blocks fold, open, are walked and searched within the budget of elements", async ({ page }) => {
  test.setTimeout(180_000);
  const errors = await openWindow(page, await own.address());
  await offered(page, /400 blocks/).click();
  await showTab(page, "Graph");
  const cards = page.locator(".react-flow__node");
  await expect(cards.first()).toBeVisible({ timeout: 60_000 });
  expect(await cards.count()).toBeLessThan(60);
  await expectFew(page, "folded");
  await expect(page.getByTitle("Only Neural Engine (A)")).toBeVisible({ timeout: 60_000 });
  await picture(page, "big-folded");

  const canvas = page.locator("[data-graph-canvas]");
  await canvas.focus();
  await page.keyboard.press("Shift+E");
  // All of it is in view, at a zoom at which blocks have their numbers: a strip would need ten times less.
  await expect.poll(async () => (await look(page)).zoom, { timeout: 30_000 }).toBeLessThan(0.12);
  await expectFew(page, "every op shown");
  expect((await look(page)).zoom).toBeGreaterThan(0.008);
  await expect(page.locator('[class*="minimap"]').first()).toBeHidden();
  await picture(page, "big-everything");

  const box = await canvas.boundingBox();
  if (box === null) throw new Error("the canvas has no box");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let step = 0; step < 20; step++) {
    await page.mouse.wheel(0, step % 2 === 0 ? 300 : -200);
    await expectFew(page, `panned ${step}`);
  }
  for (const mode of ["Segment", "Time", "Bytes", "FLOPs", "Weights", "Device"]) {
    await page.getByText(mode, { exact: true }).click();
    await expectFew(page, `coloured by ${mode}`);
  }

  await page.getByLabel("Search the graph").fill("op:attention layer:399");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Why here?")).toBeVisible();
  await expectFew(page, "a hit found");
  await picture(page, "big-hit");

  // The tree and the table of tensors are windows onto long lists, too.
  await showTab(page, "Tensors");
  await expectFew(page, "tensors");
  expect(errors).toEqual([]);
});
