/** 100 windows opened and closed: resident memory is back within 100 MB. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openedWindows } from "../../testing/openedWindows.ts";

it("gives the memory of a hundred windows back", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-windows-"));
  const windows = await openedWindows(folder);
  try {
    await windows.turns(3);
    const before = await windows.bytesAfter();
    await windows.turns(100);
    const grown = (await windows.bytesAfter()) - before;
    console.log(`after 100 windows the engine holds ${Math.round(grown / 1e6)} MB more`);
    expect(grown).toBeLessThan(100e6);
    // Models that stay are found by that bound.
    expect((await windows.bytesWith(20)) - before).toBeGreaterThan(100e6);
    expect((await windows.bytesAfter()) - before).toBeLessThan(100e6);
  } finally {
    await windows.done();
    await rm(folder, { recursive: true, force: true });
  }
});
