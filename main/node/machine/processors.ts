/** The processors: how many are of which kind, and how busy all programs keep them. */
import { availableParallelism, cpus } from "node:os";
import type { CoreKinds, ProcessorTimes } from "../../engine/services.ts";
import type { MachineSource } from "./machineState.ts";

/** Kinds from sysctl on a Mac; on Linux from the kernel's lists of hybrid processors, or from each one's capacity. */
export async function coreKinds(machine: MachineSource): Promise<CoreKinds | null> {
  if (machine.platform === "darwin") {
    const count = async (level: number): Promise<number> =>
      Number(await machine.run("/usr/sbin/sysctl", ["-n", `hw.perflevel${level}.logicalcpu`]));
    return kindsOf(await count(0), await count(1));
  }
  if (machine.platform !== "linux") return null;
  const [core, atom] = ["cpu_core", "cpu_atom"].map((kind) => machine.read(`/sys/devices/${kind}/cpus`));
  if (core !== undefined && atom !== undefined) return kindsOf(listed(core), listed(atom));
  const capacities = machine
    .list("/sys/devices/system/cpu")
    .filter((name) => /^cpu\d+$/u.test(name))
    .map((name) => Number(machine.read(`/sys/devices/system/cpu/${name}/cpu_capacity`)));
  const most = Math.max(...capacities);
  const fast = capacities.filter((capacity) => capacity === most).length;
  return kindsOf(fast, capacities.length - fast);
}

const kindsOf = (performance: number, efficiency: number): CoreKinds | null =>
  performance > 0 && efficiency > 0 ? { performance, efficiency } : null;

/** How many the kernel's list names: "0-3,8" names five. */
const listed = (text: string): number =>
  text.split(",").reduce((all, part) => {
    const [first = NaN, last = first] = part.split("-").map(Number);
    return all + (last - first + 1);
  }, 0);

/** null where this process may use fewer processors than the machine has: the rest is not its concern. */
export function processorTimes(): ProcessorTimes | null {
  const all = cpus();
  if (all.length === 0 || all.length !== availableParallelism()) return null;
  const { user, system } = process.cpuUsage();
  const busy = all.reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  return { busy: busy / 1e3, own: (user + system) / 1e6 };
}
