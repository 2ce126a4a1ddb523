/** Energy that the processor's own counters tell: RAPL, on Linux. Elsewhere a sentence says why there is none, never a number. */
import { join } from "node:path";
import type { EnergyCounter, NoEnergy } from "../../engine/services.ts";
import type { MachineSource } from "./machineState.ts";

const FOLDER = "/sys/class/powercap";

interface Zone {
  readonly path: string;
  /** The counter begins again behind this many microjoules. */
  readonly range: number;
}

export function energyCounter(machine: MachineSource): EnergyCounter | NoEnergy {
  if (machine.platform === "darwin")
    return none("Energy is not exposed: macOS tells it to powermetrics only, which needs root.");
  if (machine.platform !== "linux") return none("Energy is not exposed on this machine.");
  // Packages hold their cores; memory is a zone inside of one, and counts for itself.
  const zones = machine.list(FOLDER).filter((name) => /^intel-rapl:\d+(:\d+)?$/u.test(name));
  const told = zones.filter((name) => /^(package-\d+|dram)$/u.test(machine.read(join(FOLDER, name, "name")) ?? ""));
  if (told.length === 0) return none(`Energy is not exposed on this machine: ${FOLDER} has no zone of a processor.`);
  const readable = told.flatMap((name): readonly Zone[] => {
    const path = join(FOLDER, name, "energy_uj");
    const range = Number(machine.read(join(FOLDER, name, "max_energy_range_uj")));
    return microjoules(machine, path) === undefined || !(range > 0) ? [] : [{ path, range }];
  });
  // A sum without one of them would be too small.
  if (readable.length < told.length) return none(`Energy is counted in ${FOLDER}, but only root may read it.`);
  return counterOf(machine, readable);
}

const none = (sentence: string): NoEnergy => ({ kind: "none", sentence });

const microjoules = (machine: MachineSource, path: string): number | undefined => {
  const text = machine.read(path);
  return text === undefined || !/^\d+$/u.test(text) ? undefined : Number(text);
};

function counterOf(machine: MachineSource, zones: readonly Zone[]): EnergyCounter {
  const last = zones.map(({ path }) => microjoules(machine, path) ?? 0);
  let total = 0;
  return {
    kind: "counter",
    source: `RAPL, ${FOLDER}`,
    joules() {
      for (const [at, { path, range }] of zones.entries()) {
        const before = last[at] ?? 0;
        const now = microjoules(machine, path) ?? before;
        total += now >= before ? now - before : now + range - before;
        last[at] = now;
      }
      return total / 1e6;
    },
  };
}
