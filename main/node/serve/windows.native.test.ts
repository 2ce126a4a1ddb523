/** A model goes with its window, whether that closes or is reloaded: the engine holds no more after many of them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openedWindows } from "../../testing/openedWindows.ts";

it("gives the memory of ten windows back", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-windows-"));
  const windows = await openedWindows(folder);
  try {
    await windows.turns(2);
    const before = await windows.bytesAfter();
    await windows.turns(10);
    expect((await windows.bytesAfter()) - before).toBeLessThan(100e6);
  } finally {
    await windows.done();
    await rm(folder, { recursive: true, force: true });
  }
});
