/** 20 000 damaged safetensors headers and as many other damaged files: coded errors within a second and 256 MiB. */
import { expect, it } from "vitest";
import { collectGarbage } from "../testing/collectGarbage.ts";
import { damagedFile, damagedForm, damagedSafetensors } from "../testing/hostileFolders.ts";
import type { Attack } from "../testing/hostileGguf.ts";
import { attack } from "../testing/hostileGguf.ts";
import { peakGrowth } from "../testing/peakMemory.ts";

/** Garbage is collected after so many files: how long it may lie is the machine's affair, what a file needs is ours. */
const BATCH = 40;

it.each([
  ["safetensors headers", 10_000, damagedSafetensors(false)],
  ["safetensors headers of folders", 10_000, damagedSafetensors(true)],
  ["config.json files", 1000, damagedFile("config.json")],
  ["tokenizer.json files", 1000, damagedFile("tokenizer.json")],
  ["GGUF headers of version 1", 1000, damagedForm(false)],
  ["big-endian GGUF headers", 1000, damagedForm(true)],
] as const satisfies readonly (readonly [string, number, Attack])[])(
  "%s, %i of them",
  async (_title, count, options) => {
    collectGarbage();
    const growth = peakGrowth();
    const ends = new Map<string, number>();
    for (let done = 0; done < count; done += BATCH) {
      const { faults, outcomes } = await attack(3_000_000 + done, BATCH, options);
      expect(faults).toEqual([]);
      for (const [end, times] of outcomes) ends.set(end, (ends.get(end) ?? 0) + times);
      collectGarbage();
    }
    expect(growth()).toBeLessThan(256 << 20);
    // The damage goes everywhere: some still open, others do not, for different reasons.
    expect(ends.get("opened")).toBeGreaterThan(count / 100);
    expect([...ends.values()].filter((times) => times >= count / 500).length).toBeGreaterThanOrEqual(3);
  },
);
