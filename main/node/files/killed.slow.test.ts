/**
 * kill -9 at a random moment, a hundred times: session and checkpoint are those before or after the write, and no
 * finished line is lost.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readDocument } from "../../contract/views/session.ts";
import { killWriter } from "../../testing/killedWriter.ts";
import { memorySnapshot } from "../../testing/memoryDocument.ts";
import { checkpointAt } from "../library/checkpoints.ts";
import { createHistories } from "./histories.ts";
import { createSessions } from "./sessions.ts";

it("keeps session, history and checkpoint whole over a hundred kills", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-killed-"));
  try {
    const finished: number[] = [];
    let first = 0;
    for (let kill = 0; kill < 100; kill++) {
      // Of one entry and of some twenty: each moment of a write is met.
      const last = await killWriter(folder, first, Math.random() * 60);
      for (let at = first; at <= last; at++) finished.push(at);
      const { savedAt } = readDocument(await createSessions(folder).load("killed"));
      expect([last, last + 1]).toContain(savedAt);
      const checkpoint = await checkpointAt(join(folder, "killed.safetensors"));
      expect([last, last + 1]).toContain(checkpoint.steps);
      expect(checkpoint).toEqual(memorySnapshot(checkpoint.steps));
      first = last + 2;
    }
    // A fast machine writes more than a history reads by default; here each line counts.
    const all = createHistories(folder, 1 << 30);
    const { entries, damaged, cut } = await all.list("bench", { limit: 10_000, identity: null });
    expect(cut).toBe(false);
    const kept = new Set(entries.map(({ at }) => at));
    expect(finished.filter((at) => !kept.has(at))).toEqual([]);
    // What was being written when the process died is whole or left out.
    expect(entries.length).toBeLessThanOrEqual(finished.length + 100);
    expect(damaged).toBeLessThanOrEqual(100);
    for (const { at, value } of entries) expect(value).toMatchObject({ rate: at });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 600_000);
