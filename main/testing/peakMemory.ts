/** How much memory was taken at most, what was given back between two looks included. */
import { readFileSync, writeFileSync } from "node:fs";

const highestBytes = (): number => {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS * 1024;
  const kilobytes = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kilobytes) * 1024;
};

/**
 * Says by how much this process has grown at most since the call. Linux begins anew at what is held now (what `maxRSS` says there
 * is inherited from the process that forked this one); elsewhere only what exceeds the highest mark so far is seen.
 */
export function peakGrowth(): () => number {
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
  const before = highestBytes();
  return () => highestBytes() - before;
}

/**
 * For `node --import`: a process says at its end, as its last line on stderr, how much memory it had at most, in kilobytes. Linux
 * begins its mark anew with the program; `maxRSS` would be that of the process which started it, if that had more.
 */
export const SAYS_PEAK = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync, writeSync } from "node:fs";
  process.on("exit", () => {
    const highest = process.platform === "linux"
      ? Number(/VmHWM:\\s+(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1])
      : process.resourceUsage().maxRSS;
    writeSync(2, "\\n" + highest);
  });
`)}`;

export const saidPeakBytes = (stderr: string): number => Number(stderr.trim().split("\n").at(-1)) * 1024;
