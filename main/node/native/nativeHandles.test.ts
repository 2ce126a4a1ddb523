import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { Started } from "./nativeHandles.ts";
import { nativeHandles } from "./nativeHandles.ts";

test("a signal that stands for many jobs has one listener, and an abort cancels those that still run", async () => {
  const cancelled: number[] = [];
  const { awaited } = nativeHandles({ cancel: (job) => cancelled.push(job) > 0, dispose: () => true });
  const ends: (() => void)[] = [];
  const start = (): Started<void> => ({
    job: ends.length,
    promise: new Promise((resolve) => ends.push(resolve)),
  });
  const controller = new AbortController();
  const jobs = [0, 1, 2].map(() => awaited(start, controller.signal));
  ends[1]!();
  await jobs[1];
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  controller.abort();
  expect(cancelled).toEqual([0, 2]);
  for (const end of ends) end();
  await Promise.all(jobs);
  await expect(awaited(start, controller.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  expect(ends).toHaveLength(3);
});
