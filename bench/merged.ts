// The merged drawing of Compare at about 10 000 ops, in Chromium over the built `rlx serve`: a deep model against itself on the best
// other target. Prints JSON: from the tab to the first sentence and to the drawing, and from an arrow key to the change that it shows.
//   node scripts/build.mjs cli engine renderer && npx tsx bench/merged.ts [--ops 10000] [--repeats 3]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "../main/runtime/statistics.ts";
import { OPS_PER_BLOCK, writeDeepFile } from "./support/deepFile.ts";
import { goToStart, has, launch, OVERVIEW_SHOWN, serve, timed } from "./support/page.ts";

const { values: options } = parseArgs({
  options: { ops: { type: "string", default: "10000" }, repeats: { type: "string", default: "3" } },
});
const [ops, repeats] = [Number(options.ops), Number(options.repeats)];
const LIST = '[role="listbox"][aria-label="Changes from A to B"]';

const folder = mkdtempSync(join(tmpdir(), "merged-"));
const file = join(folder, "deep.gguf");
writeDeepFile(file, Math.round(ops / OPS_PER_BLOCK));
const served = await serve(join(folder, "home"));
const browser = await launch();
const taken: { readonly words: number; readonly drawing: number; readonly next: number; readonly counts: string }[] =
  [];
try {
  for (let turn = 0; turn < repeats; turn++) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await goToStart(page, await served.address());
    await page.getByRole("button", { name: "Paste a path" }).click();
    await page.getByLabel(/Path of a GGUF/).fill(file);
    await timed(page, () => page.keyboard.press("Enter"), OVERVIEW_SHOWN);
    const begun = performance.now();
    const words = await timed(page, () => page.locator("#tab-compare").click(), has('[aria-label="In words"] li'));
    await page.locator(LIST).waitFor({ timeout: 60_000 });
    const drawing = performance.now() - begun;
    const list = page.locator(LIST);
    await list.focus();
    const next = await timed(page, () => page.keyboard.press("ArrowDown"), has(`${LIST} [aria-selected="true"]`));
    const counts = await page.getByText(/^\+\d/u).first().innerText();
    taken.push({ words, drawing, next, counts });
    await page.close();
  }
} finally {
  await browser.close();
  served.stop();
  rmSync(folder, { recursive: true, force: true });
}
const of = (name: "words" | "drawing" | "next"): number => Math.round(median(taken.map((each) => each[name])));
console.log(
  JSON.stringify({ ops, words: of("words"), drawing: of("drawing"), next: of("next"), counts: taken[0]?.counts }),
);
