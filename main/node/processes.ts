/** Whose work is a file with a process number in its name: somebody's who lives, or a leftover? */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/** Another process that lives; whose number was given to somebody else counts as living, which costs room and nothing else. */
export function isAnother(pid: number): boolean {
  // 0 would ask for our own group.
  if (pid === process.pid || pid < 1) return false;
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** It has ended, but nobody asked how: so it stays in a container whose first process does not care for orphans. */
function isZombie(pid: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    // The state stands after the name, which is in brackets.
    return /^.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** Who made something before the machine was started has ended, whoever has its number now. */
export const isSinceStart = (changedMs: number): boolean => changedMs >= Date.now() - 1000 * uptime();
