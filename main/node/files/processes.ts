/** Whose work is a file with a process number in its name: somebody's who lives, or a leftover? */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";

/** Who made a file: a process number says that only beside what it counts in, where machines or containers share a folder. */
export interface Maker {
  readonly pid: number;
  readonly host: string;
  /** One run of the machine, and the processes that are numbered together in it; elsewhere than on Linux the same always. */
  readonly boot: string;
  readonly numbering: string;
}

/** A maker as a part of a file's name, for `parseMaker`. */
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

/** Has whoever made this ended? Of another machine, or of another container of this one, nobody here could say. */
export function hasEnded(maker: Maker, changedMs: number): boolean {
  const own = ownMaker();
  if (maker.host !== own.host) return false;
  if (maker.boot !== own.boot) return true;
  if (maker.numbering !== own.numbering) return false;
  // Its number may be our own now: then it was made before the machine was started.
  return !isSinceStart(changedMs) || (maker.pid !== own.pid && !isAnother(maker.pid));
}

const short = (...facts: readonly string[]): string =>
  createHash("sha256").update(facts.join("\0")).digest("hex").slice(0, 8);

/** What only Linux says. */
function factOf(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

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
