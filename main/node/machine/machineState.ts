/**
 * Heat, power and memory of this machine, read from where the system tells them: Core ML's bridge, pmset and sysctl on a Mac, files
 * under /sys and /proc on Linux. What is not told is a sentence; no number is made up.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg, platform } from "node:os";
import { join } from "node:path";
import type { MachineState, Reading } from "../../contract/views/machine.ts";
import type { EngineDevice, EngineDevices } from "../../engine/devices.ts";
import { macOf } from "../../engine/devices.ts";
import { bytesFigure } from "../../engine/measure/forecast.ts";
import { freeBytes, totalBytes } from "./machineInfo.ts";

/** Where this machine is asked: replaced in tests. */
export interface MachineSource {
  readonly platform: string;
  /** The text of a file, or undefined. */
  readonly read: (path: string) => string | undefined;
  readonly list: (folder: string) => readonly string[];
  /** What a system program prints, or undefined when it is not there or fails. */
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

export interface StateParts {
  readonly devices: EngineDevices;
  readonly machine?: MachineSource;
}

export async function machineState({ devices, machine = thisMachine }: StateParts): Promise<MachineState> {
  const mac = macOf(devices);
  const told = mac?.truth === "measured" ? mac : undefined;
  return {
    at: Date.now(),
    readings: [
      thermalReading(machine, told?.thermal),
      await powerReading(machine, told?.lowPower),
      await memoryReading(machine),
      ...swapReading(machine),
      loadReading(machine),
      ...devices.listed.flatMap(memoryReadings),
    ],
  };
}

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

/** The temperature from which the kernel slows a zone's devices down. */
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
/** Free memory below this share is little. */
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
  // PSI: the share of the last ten seconds in which some program waited for memory.
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

/** Programs that wanted a processor, over the last minute; Windows has no such average. */
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

/** Of a device with a memory of its own. */
function memoryReadings(device: EngineDevice): Reading[] {
  if (device.memory === undefined) return [];
  const { id, title } = device;
  if (!device.probe().ok)
    return [{ ...unknown(`${id}-memory`, `${title} memory`, `${title} is not here`), device: id }];
  return device
    .memory()
    .map(({ bytes, ...reading }): Reading => ({ ...reading, value: bytesFigure(bytes), state: "ok", device: id }));
}

/** Heat, power and memory that make a result hard to compare; load is not among them, because a benchmark is one. */
export function stateNotes({
  before,
  after,
}: {
  readonly before: MachineState;
  readonly after: MachineState;
}): string[] {
  const found: string[] = [];
  for (const id of ["thermal", "power", "memory"] as const) {
    const [first, last] = [before, after].map((state) => state.readings.find((each) => each.id === id));
    const bad = [first, last].find((each) => each?.state === "warning");
    if (bad !== undefined) found.push(`${bad.title}: ${bad.value ?? bad.source}; the run is flagged.`);
    else if (id === "power" && first?.value !== last?.value)
      found.push(`Power changed from ${first?.value ?? "unknown"} to ${last?.value ?? "unknown"} while it ran.`);
  }
  const load = before.readings.find((each) => each.id === "load");
  if (load?.state === "warning") found.push(`Other programs kept this machine busy: load ${load.value ?? ""}.`);
  return found;
}
