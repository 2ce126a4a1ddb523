/** What the main thread of a window computes, task by task. */
import type { Page } from "@playwright/test";

/** How long its tasks computed, in milliseconds: what others took of the processor does not count. */
export async function tasksOf(page: Page, during: () => Promise<unknown>): Promise<readonly number[]> {
  const browser = page.context().browser();
  await browser?.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
  await during();
  const trace = JSON.parse(String(await browser?.stopTracing())) as { readonly traceEvents: readonly TraceEvent[] };
  const place = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const mains = trace.traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const own = new Set(mains.map(place));
  return trace.traceEvents.flatMap((event) =>
    event.name.endsWith("RunTask") && event.tdur !== undefined && own.has(place(event)) ? [event.tdur / 1000] : [],
  );
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}
