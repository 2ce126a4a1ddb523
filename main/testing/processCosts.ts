/** Processor time and memory of a process, from /proc (Linux only). */
import { readFile, writeFile } from "node:fs/promises";

export interface ProcessCosts {
  /** Processor time so far, not hours, because tests share their machine. */
  readonly seconds: number;
  /** The most memory it held since `forgetPeak`. */
  readonly highestMiB: number;
}

/** Its highest memory begins anew: or a peak would hide every lower one after it. */
export const forgetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, "5");

export async function processCosts(pid: number): Promise<ProcessCosts> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid}/status`, "utf8"),
    readFile(`/proc/${pid}/stat`, "utf8"),
  ]);
  // utime and stime: fields 14 and 15, in hundredths of a second. Field 2 is a name in brackets.
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return {
    seconds: ((user ?? NaN) + (system ?? NaN)) / 100,
    highestMiB: Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024,
  };
}

/** What `act` costs the process: seconds, and by how much it grew at most meanwhile. */
export async function costOf<T>(
  pid: number,
  act: () => Promise<T>,
): Promise<{ readonly value: T; readonly seconds: number; readonly grownMiB: number }> {
  await forgetPeak(pid);
  const before = await processCosts(pid);
  const value = await act();
  const after = await processCosts(pid);
  return { value, seconds: after.seconds - before.seconds, grownMiB: after.highestMiB - before.highestMiB };
}
