// The longest task of a page's main thread for each of some interactions, from a trace of Chromium's.
import type { Page } from "@playwright/test";

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  /** Microseconds of the thread, which other programs do not lengthen. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const MARK = "interaction";

/** Runs what calls `mark` before each interaction; milliseconds of the thread. */
export async function longestTasks(
  page: Page,
  run: (mark: () => Promise<unknown>) => Promise<void>,
): Promise<number[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("a page of a browser that was launched");
  await browser.startTracing(page, {
    categories: ["toplevel", "blink.user_timing", "disabled-by-default-devtools.timeline"],
  });
  await run(() => page.evaluate(`performance.mark(${JSON.stringify(MARK)}), 0`));
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const marks = traceEvents.filter(({ name }) => name === MARK);
  const [first] = marks;
  if (first === undefined) throw new Error("the trace has no interactions");
  // A page marks on its main thread.
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name === "RunTask" && pid === first.pid && tid === first.tid,
  );
  return marks.map(({ ts }, i) => {
    const end = marks[i + 1]?.ts ?? Infinity;
    return Math.max(0, ...tasks.filter((task) => task.ts > ts && task.ts < end).map(({ tdur = 0 }) => tdur / 1000));
  });
}
