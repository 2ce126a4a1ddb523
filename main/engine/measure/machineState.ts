/** The state that numbers depend on: what the machine tells, the memory of its devices, and what is to be said beside a result. */
import type { MachineState, Reading } from "../../contract/views/machine.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import { macOf } from "../devices.ts";
import type { Machine } from "../services.ts";
import { bytesFigure } from "./forecast.ts";

export interface StateParts {
  readonly devices: EngineDevices;
  readonly machine: Machine;
}

export async function machineState({ devices, machine }: StateParts): Promise<MachineState> {
  const mac = macOf(devices);
  const readings = await machine.readings(mac?.truth === "measured" ? mac : undefined);
  return { at: Date.now(), readings: [...readings, ...devices.listed.flatMap(memoryReadings)] };
}

/** Of a device with a memory of its own. */
function memoryReadings(device: EngineDevice): Reading[] {
  if (device.memory === undefined) return [];
  const { id, title } = device;
  if (!device.probe().ok)
    return [
      {
        id: `${id}-memory`,
        title: `${title} memory`,
        value: null,
        source: `${title} is not here`,
        state: "unknown",
        device: id,
      },
    ];
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
