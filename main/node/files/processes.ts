/** Tells whether the process in a file's name still runs, or the file is a leftover. */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";

/** The maker of a file: a process number, and the machine or container that it counts in. */
export interface Maker {
  readonly pid: number;
  readonly host: string;
  /** Boot and process namespace of the maker. The same everywhere but on Linux. */
  readonly boot: string;
  readonly numbering: string;
}

/** A maker as part of a file name. `parseMaker` reads it. */
export const MAKER = /(\d+)-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})/;

/** This process. */
export const ownMaker = (): Maker => ({
  pid: process.pid,
  host: short(
    hostname(),
    factOf(() => readFileSync("/etc/machine-id", "latin1")),
  ),
  boot: short(factOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1"))),
  numbering: short(factOf(() => readlinkSync("/proc/self/ns/pid"))),
});
export const makerName = ({ pid, host, boot, numbering }: Maker): string => [pid, host, boot, numbering].join("-");

export function parseMaker(name: string): Maker | undefined {
  const [, pid, host, boot, numbering] = MAKER.exec(name) ?? [];
  if (pid === undefined || host === undefined || boot === undefined || numbering === undefined) return undefined;
  return { pid: Number(pid), host, boot, numbering };
}

/** True if the maker has ended. False for other machines and containers: this one cannot know. */
export function hasEnded(maker: Maker, changedMs: number): boolean {
  const own = ownMaker();
  if (maker.host !== own.host) return false;
  if (maker.boot !== own.boot) return true;
  if (maker.numbering !== own.numbering) return false;
  // Its number may be our own by now: then it is older than the boot.
  return !isSinceStart(changedMs) || (maker.pid !== own.pid && !isAnother(maker.pid));
}

const short = (...facts: readonly string[]): string =>
  createHash("sha256").update(facts.join("\0")).digest("hex").slice(0, 8);

/** Read from /proc, on Linux only. */
function factOf(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/** True for another live process. A reused number counts as live, which costs disk space only. */
export function isAnother(pid: number): boolean {
  // 0 would mean our own group.
  if (pid === process.pid || pid < 1) return false;
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A zombie: it has ended, but its parent never read its exit code. */
function isZombie(pid: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    // The state follows the name, which is in brackets.
    return /^.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** A maker from before the boot has ended, even if its number is in use again. */
export const isSinceStart = (changedMs: number): boolean => changedMs >= Date.now() - 1000 * uptime();
