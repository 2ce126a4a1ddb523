/** Peak memory, including memory that was freed again. */
import { readFileSync, writeFileSync } from "node:fs";

const highestBytes = (): number => {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS * 1024;
  const kilobytes = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kilobytes) * 1024;
};

/**
 * Returns the peak growth of this process since the call. On Linux the mark is reset first (`maxRSS`
 * there is inherited from the parent). Elsewhere only growth beyond the earlier peak is seen.
 */
export function peakGrowth(): () => number {
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
  const before = highestBytes();
  return () => highestBytes() - before;
}

/**
 * For `node --import`: the process prints its peak memory in kilobytes as its last line on stderr. On
 * Linux it reads VmHWM, because `maxRSS` may be that of the parent.
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
