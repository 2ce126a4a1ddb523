/** A file that is dragged over the window: the window says that it takes it, and stops saying so when the drag ends without a drop. */
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { openPath, openWindow, sampleCopy, startReady } from "./workbench.ts";

const own = ownWorkbench();

test("a cancelled drag leaves nothing over the window", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await startReady(page);
  const path = sampleCopy(own.folder(), "dragged.gguf");
  await openPath(page, path);
  const hint = page.getByText("Drop to open");
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  const drag = (type: "dragEnter" | "dragOver" | "dragCancel", x: number): Promise<unknown> =>
    session.send("Input.dispatchDragEvent", { type, x, y: 400, data });
  const begin = async (): Promise<void> => {
    await drag("dragEnter", 300);
    // From one pane to the next and onto the hint itself.
    for (const x of [300, 700, 1200]) await drag("dragOver", x);
    await expect(hint).toBeVisible();
  };

  await begin();
  await drag("dragCancel", 1200);
  await page.mouse.move(500, 500);
  await expect(hint).toBeHidden();

  await begin();
  await page.keyboard.press("Escape");
  await expect(hint).toBeHidden();
  expect(errors).toEqual([]);
});
