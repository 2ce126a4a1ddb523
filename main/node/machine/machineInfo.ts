/** The machine the engine runs on, as far as Node and the addon can tell. */
import { cpus, freemem, platform, release, totalmem } from "node:os";
import { readFileSync } from "node:fs";

export function chipTitle(): string {
  return cpus()[0]?.model.replaceAll(/\s+/g, " ").trim() ?? "unknown processor";
}

export function osTitle(): string {
  if (platform() === "darwin") return `macOS (Darwin ${release()})`;
  if (platform() === "linux") {
    try {
      const named = /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"));
      if (named?.[1] !== undefined) return named[1];
    } catch {
      // Without the file, the kernel's name stands in.
    }
  }
  return `${platform()} ${release()}`;
}

export function platformName(): "darwin" | "linux" | "win32" | "other" {
  const name = platform();
  return name === "darwin" || name === "linux" || name === "win32" ? name : "other";
}

/** Memory that a program can get. On Linux this includes the page cache. */
export function freeBytes(): number {
  if (platform() === "linux") {
    try {
      const available = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"));
      if (available?.[1] !== undefined) return Number(available[1]) * 1024;
    } catch {
      // Fall through to what Node says.
    }
  }
  return freemem();
}

export const totalBytes = totalmem;
