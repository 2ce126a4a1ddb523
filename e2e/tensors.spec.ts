/**
 * A damaged file is checked in the window: the verdict names the place, its values are paged by keys,
 * the numbers stand beside. Then it is grouped, seen as a picture, and compared with a smaller file.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { writeDamaged } from "../main/testing/damagedFile.ts";
import { ownWorkbench } from "./serve.ts";
import { lookAt, LOOKS, openLook, openPath, sampleCopy, showTab } from "./workbench.ts";

const TENSOR = "blk.1.ffn_up.weight";
/** A row of 256 values in Q8_0 is 8 blocks of 34 bytes; this is block 2 of row 300. */
const PLACE = (300 * 8 + 2) * 34;

let whole: string;
let broken: string;
let smaller: string;
const own = ownWorkbench({
  prepare: async (folder) => {
    whole = sampleCopy(folder, "whole.gguf");
    broken = join(folder, "broken.gguf");
    smaller = join(folder, "smaller.gguf");
    execFileSync(process.execPath, ["out/cli/rlx.js", "quantize", whole, "--to", "q4_0", "--output", smaller]);
    await writeDamaged(whole, broken, TENSOR, (bytes) => bytes.writeUInt16LE(0x7e00, PLACE));
  },
});

test("a damaged file is told by its row", async ({ page }) => {
  const wrong: string[] = [];
  const look = async (name: string): Promise<void> => {
    wrong.push(...(await lookAt(page, `tensors-${name}`)));
  };
  const errors = await openLook(page, await own.address(), LOOKS.usualLight);
  await openPath(page, broken);
  const panel = await showTab(page, "Tensors");
  await panel.getByLabel("Another file to compare with").fill(whole);
  const verdict = panel.getByRole("heading", { name: "The file is broken" });
  await page.keyboard.press("Control+K");
  await page.keyboard.type("check the file");
  await page.keyboard.press("Enter");
  await expect(verdict).toBeVisible();
  await panel.getByRole("button", { name: "Close the result of the check" }).click();
  await expect(verdict).toBeHidden();
  await panel.getByRole("button", { name: "Check the file" }).click();
  await expect(verdict).toBeVisible();
  await expect(panel.getByRole("status")).toContainText(`${TENSOR}: 32 NaN, the first in row 300, block 2 (column 64)`);
  await look("check");

  await panel.getByRole("list", { name: "Findings" }).getByRole("button", { name: TENSOR }).click();
  const values = panel.getByRole("group", { name: `Values of ${TENSOR}` });
  await expect(values.getByText("NaN").first()).toBeVisible();
  await panel.getByRole("button", { name: "Close the result of the check" }).click();
  const inspector = page.getByRole("complementary").filter({ hasText: "Block scales" });
  await expect(inspector).toContainText("32 NaN, the first in row 300");
  await expect(inspector).toContainText("relative error");
  await look("values");
  await values.focus();
  await page.keyboard.press("Control+Home");
  await expect(values.getByRole("rowheader").first()).toHaveText("0");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("ArrowDown");
  await expect(values.getByRole("rowheader").first()).not.toHaveText("0");
  await page.keyboard.press("Control+End");
  await expect(values.getByRole("rowheader").last()).toHaveText("511");
  await panel.getByRole("radio", { name: "Table" }).click();
  const list = panel.getByRole("table", { name: "Tensors" });
  await expect(list).toBeVisible();
  await expect(list.getByRole("columnheader", { name: "on device" })).toBeVisible();

  await panel.getByLabel("Group").selectOption("by layer");
  const layer = list.getByRole("button", { name: /^layer 0 / });
  await expect(list.getByText("blk.0.attn_q.weight")).toBeVisible();
  await layer.focus();
  await page.keyboard.press("Enter");
  await expect(layer).toHaveAttribute("aria-expanded", "false");
  await expect(list.getByText("blk.0.attn_q.weight")).toBeHidden();

  await panel.getByLabel("Another file to compare with").fill(smaller);
  await page.keyboard.press("Enter");
  await expect(panel.getByRole("status")).toContainText(/46 tensors: .* % .* away from smaller\.gguf over all/);
  await expect(list.getByRole("columnheader", { name: "error" })).toBeVisible();
  const picture = panel.getByRole("listbox");
  await expect(picture).toBeVisible();
  await page.setViewportSize({ width: 1000, height: 640 });
  await expect(picture).toBeHidden();
  await panel.getByRole("button", { name: "Map" }).click();
  await picture.focus();
  await page.keyboard.press("Home");
  await expect(picture.getByRole("option")).toContainText("token_embd.weight, Q8_0, 1024×256");
  await page.keyboard.press("End");
  await expect(page.getByRole("complementary").filter({ hasText: "On the device" })).toContainText("signal to noise");
  await picture.hover({ position: { x: 30, y: 40 } });
  await look("compared");
  await panel.getByRole("button", { name: "Forget the comparison" }).click();
  await expect(list.getByRole("columnheader", { name: "error" })).toBeHidden();
  expect([...errors, ...wrong]).toEqual([]);
});
