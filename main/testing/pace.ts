/**
 * Time limits hold on an idle machine. On a busy one, a limit grows by the slowdown of an empty Node
 * process that is timed at the same moment. On an idle machine the limit itself is the bound, so a
 * regression shows there. A test says which of the two applied.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { median } from "../runtime/statistics.ts";

/** An empty Node process on an idle machine takes 30 to 60 ms; up to this, nothing is added. */
const IDLE_MS = 100;
const LOOKS = 3;

async function emptyProcessMs(): Promise<number> {
  const began = performance.now();
  await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
  return performance.now() - began;
}

/** Beyond it a machine is so busy that nothing is learnt. */
const MOST_TIMES = 2.5;
export const allowedAt = (promisedMs: number, emptyMs: number): number =>
  promisedMs * Math.min(MOST_TIMES, Math.max(1, emptyMs / IDLE_MS));

export interface Allowance {
  readonly ms: number;
  /** "2000 ms promised; 5200 ms allowed, because an empty process takes 260 ms here now". */
  readonly sentence: string;
}

/** What `promisedMs` comes to on this machine at this moment. */
export async function allowedNow(promisedMs: number): Promise<Allowance> {
  const times: number[] = [];
  for (let look = 0; look < LOOKS; look++) times.push(await emptyProcessMs());
  const empty = median(times);
  const ms = allowedAt(promisedMs, empty);
  const promised = `${promisedMs} ms promised`;
  const sentence =
    ms === promisedMs
      ? promised
      : `${promised}; ${ms.toFixed(0)} ms allowed, because an empty process takes ${empty.toFixed(0)} ms here now`;
  return { ms, sentence };
}

/** The allowance for what took `spentMs`. Where the promise is kept, the machine is not looked at. */
export const allowedFor = async (spentMs: number, promisedMs: number): Promise<Allowance> =>
  spentMs < promisedMs ? { ms: promisedMs, sentence: `${promisedMs} ms promised` } : allowedNow(promisedMs);
