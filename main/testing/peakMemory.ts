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
