/** An attack of thousands of files, and the memory that it needs. For tests, because it expects. */
import { expect } from "vitest";
import { collectGarbage } from "./collectGarbage.ts";
import type { Attack } from "./hostileGguf.ts";
import { attack } from "./hostileGguf.ts";
import { peakGrowth } from "./peakMemory.ts";

const BATCH = 20;
/** Garbage is collected when so much lies about: how long it may lie is the machine's affair, what a file needs is ours. */
const GARBAGE = 64 << 20;
const LIMIT = 256 << 20;

function bytesHeld(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How often each end was met; all of it coded, in time and within memory. */
export async function attackAll(first: number, count: number, options: Attack): Promise<Map<string, number>> {
  collectGarbage();
  const growth = peakGrowth();
  const atFirst = bytesHeld();
  const ends = new Map<string, number>();
  for (let done = 0; done < count; done += BATCH) {
    const { faults, outcomes } = await attack(first + done, BATCH, options);
    expect(faults).toEqual([]);
    for (const [end, times] of outcomes) ends.set(end, (ends.get(end) ?? 0) + times);
    if (bytesHeld() - atFirst > GARBAGE) collectGarbage();
  }
  expect(growth()).toBeLessThan(LIMIT);
  return ends;
}
