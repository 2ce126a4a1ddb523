/**
 * Heat, power and memory of this machine: from Core ML's bridge, pmset and sysctl on a Mac, from /sys
 * and /proc on Linux. What the system does not tell is a sentence, never an invented number.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg, platform } from "node:os";
import { join } from "node:path";
import type { MacFacts } from "../../contract/views/mac.ts";
import type { Reading } from "../../contract/views/machine.ts";
import { bytesFigure } from "../../engine/measure/forecast.ts";
import { freeBytes, totalBytes } from "./machineInfo.ts";

/** Access to the system. Tests replace it. */
export interface MachineSource {
  readonly platform: string;
  /** The text of a file, or undefined. */
  readonly read: (path: string) => string | undefined;
  readonly list: (folder: string) => readonly string[];
  /** Output of a system program; undefined if it is missing or fails. */
  readonly run: (program: string, parameters: readonly string[]) => Promise<string | undefined>;
}

const RUN_MS = 2000;

export const thisMachine: MachineSource = {
  platform: platform(),
  read: (path) => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return undefined;
    }
  },
  list: (folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  },
  run: (program, parameters) =>
    new Promise((resolve) => {
      execFile(program, [...parameters], { timeout: RUN_MS, maxBuffer: 1 << 16 }, (error, stdout) =>
        resolve(error === null ? stdout : undefined),
      );
    }),
};

const NOT_EXPOSED = "not exposed on this machine";

const unknown = (id: Reading["id"], title: string, why: string): Reading => ({
  id,
  title,
  value: null,
  source: why,
  state: "unknown",
});

/** `mac`: facts from Core ML's bridge. */
export const machineReadings = async (
  mac: Pick<MacFacts, "thermal" | "lowPower"> | undefined,
  machine: MachineSource = thisMachine,
): Promise<readonly Reading[]> => [
  thermalReading(machine, mac?.thermal),
  await powerReading(machine, mac?.lowPower),
  await memoryReading(machine),
  ...swapReading(machine),
  loadReading(machine),
];

export function thermalReading(machine: MachineSource, told: string | undefined): Reading {
  const named = { id: "thermal", title: "Thermal state" } as const;
  if (told !== undefined)
    return {
      ...named,
      value: told,
      source: "NSProcessInfo.thermalState",
      state: told === "nominal" ? "ok" : "warning",
    };
  if (machine.platform !== "linux")
    return unknown(
      "thermal",
      named.title,
      machine.platform === "darwin" ? "needs the Core ML bridge, which is not loaded" : NOT_EXPOSED,
    );
  const zones = machine
    .list("/sys/class/thermal")
    .filter((name) => name.startsWith("thermal_zone"))
    .flatMap((name) => {
      const folder = join("/sys/class/thermal", name);
      const degrees = numberIn(machine.read(join(folder, "temp")), 1000);
      return degrees === undefined
        ? []
        : [{ name: machine.read(join(folder, "type")) ?? name, degrees, limit: passiveTrip(machine, folder) }];
    });
  const hottest = zones.sort((a, b) => b.degrees - a.degrees)[0];
  if (hottest === undefined) return unknown("thermal", named.title, `${NOT_EXPOSED}: /sys/class/thermal has no zone`);
  const slowed = zones.find(({ degrees, limit }) => limit !== undefined && degrees >= limit);
  return {
    ...named,
    value: `${hottest.degrees.toFixed(0)} °C (${hottest.name})${slowed === undefined ? "" : `, ${slowed.name} slows down at ${slowed.limit?.toFixed(0) ?? "?"} °C`}`,
    source: "/sys/class/thermal",
    state: slowed === undefined ? "ok" : "warning",
  };
}

/** Temperature at which the kernel throttles a zone. */
function passiveTrip(machine: MachineSource, folder: string): number | undefined {
  for (let trip = 0; trip < 16; trip++) {
    const kind = machine.read(join(folder, `trip_point_${trip}_type`));
    if (kind === undefined) return undefined;
    if (kind === "passive") return numberIn(machine.read(join(folder, `trip_point_${trip}_temp`)), 1000);
  }
  return undefined;
}

function numberIn(text: string | undefined, divisor: number): number | undefined {
  const value = text === undefined || text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value / divisor : undefined;
}

export async function powerReading(machine: MachineSource, lowPower: boolean | undefined): Promise<Reading> {
  const named = { id: "power", title: "Power" } as const;
  const saving = lowPower === true ? ", low power mode" : "";
  if (machine.platform === "darwin") {
    const text = await machine.run("/usr/bin/pmset", ["-g", "batt"]);
    const from = /Now drawing from '([^']+)'/.exec(text ?? "")?.[1];
    if (from === undefined) return unknown("power", named.title, `${NOT_EXPOSED}: pmset does not say`);
    const mains = from === "AC Power";
    return {
      ...named,
      value: `${mains ? "mains" : "battery"}${saving}`,
      source: "pmset -g batt",
      state: mains && lowPower !== true ? "ok" : "warning",
    };
  }
  if (machine.platform !== "linux") return unknown("power", named.title, NOT_EXPOSED);
  const folder = "/sys/class/power_supply";
  const supplies = machine.list(folder).map((name) => ({
    kind: machine.read(join(folder, name, "type")),
    online: machine.read(join(folder, name, "online")),
    status: machine.read(join(folder, name, "status")),
  }));
  if (supplies.length === 0) return unknown("power", named.title, `${NOT_EXPOSED}: ${folder} is empty`);
  const mains = supplies.some(({ kind, online }) => kind !== "Battery" && online === "1");
  const draining = supplies.some(({ kind, status }) => kind === "Battery" && status === "Discharging");
  if (!mains && !draining) return unknown("power", named.title, `${NOT_EXPOSED}: ${folder} names no source in use`);
  return {
    ...named,
    value: mains && !draining ? "mains" : "battery",
    source: folder,
    state: mains && !draining ? "ok" : "warning",
  };
}

/** macOS: 1 normal, 2 warning, 4 critical (kern.memorystatus_vm_pressure_level). */
const PRESSURE: Readonly<Record<string, string>> = { "1": "normal", "2": "warning", "4": "critical" };
/** Below this share, free memory is low. */
const LITTLE = 0.1;

export async function memoryReading(machine: MachineSource): Promise<Reading> {
  const [free, total] = [freeBytes(), totalBytes()];
  const share = `${bytesFigure(free)} of ${bytesFigure(total)} free`;
  const named = { id: "memory", title: "Memory" } as const;
  if (machine.platform === "darwin") {
    const text = await machine.run("/usr/sbin/sysctl", ["-n", "kern.memorystatus_vm_pressure_level"]);
    const pressure = PRESSURE[text?.trim() ?? ""];
    if (pressure !== undefined)
      return {
        ...named,
        value: `${share}, pressure ${pressure}`,
        source: "sysctl kern.memorystatus_vm_pressure_level",
        state: pressure === "normal" ? "ok" : "warning",
      };
    return { ...named, value: share, source: "the system's count", state: free < total * LITTLE ? "warning" : "ok" };
  }
  // PSI: share of the last ten seconds in which a program waited for memory.
  const stalled = numberIn(/^some avg10=([\d.]+)/m.exec(machine.read("/proc/pressure/memory") ?? "")?.[1], 1);
  return {
    ...named,
    value: `${share}${(stalled ?? 0) > 0 ? `, programs waited for it ${stalled ?? 0} % of the last 10 s` : ""}`,
    source: stalled === undefined ? "the system's count" : "/proc/meminfo, /proc/pressure/memory",
    state: free < total * LITTLE || (stalled ?? 0) >= 1 ? "warning" : "ok",
  };
}

function swapReading(machine: MachineSource): Reading[] {
  if (machine.platform !== "linux") return [];
  const text = machine.read("/proc/meminfo") ?? "";
  const kilobytes = (name: string): number | undefined =>
    numberIn(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1], 1);
  const [total, free] = [kilobytes("SwapTotal"), kilobytes("SwapFree")];
  if (total === undefined || free === undefined) return [unknown("swap", "Swap", `${NOT_EXPOSED}: /proc/meminfo`)];
  return [
    {
      id: "swap",
      title: "Swap",
      value:
        total === 0 ? "none set up" : `${bytesFigure((total - free) * 1024)} of ${bytesFigure(total * 1024)} in use`,
      source: "/proc/meminfo",
      state: "ok",
    },
  ];
}

/** The load average of the last minute. Windows has none. */
export function loadReading(machine: MachineSource, load = loadavg()[0] ?? 0): Reading {
  if (machine.platform === "win32") return unknown("load", "Other load", NOT_EXPOSED);
  const processors = availableParallelism();
  return {
    id: "load",
    title: "Load",
    value: `${load.toFixed(1)} on ${processors} ${processors === 1 ? "processor" : "processors"}, last minute`,
    source: "the system's load average",
    state: load > processors * 1.5 ? "warning" : "ok",
  };
}
