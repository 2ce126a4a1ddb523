/**
 * The limit on address space (`ulimit -v`). V8 aborts where it cannot reserve memory, so rlx refuses too low a limit, and before it
 * loads the rest of itself: loading needs threads, and these address space. So nothing is imported here.
 */
import { readFileSync } from "node:fs";

/** V8 aborted commands on the sample model up to 1.2 GB; with this much all of them run. */
const LEAST_BYTES = 3 * 2 ** 29;

/** Linux tells its limits in a file. Other systems do not enforce this one. */
function limitBytes(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max address space +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** The error, where the limit is too low. */
export function addressSpaceError():
  { readonly code: string; readonly message: string; readonly hint: string } | undefined {
  const bytes = limitBytes();
  if (bytes >= LEAST_BYTES) return undefined;
  const size = (of: number): string => `${(of / 1e9).toFixed(1)} GB`;
  const message = `[rlx] address space: got a limit of ${size(bytes)}, expected at least ${size(LEAST_BYTES)}`;
  return { code: "ENV_NO_MEMORY", message, hint: "Raise the limit (ulimit -v)." };
}
