/** Devices as the engine reports them, for tests. */
import type { DeviceInfo } from "../../main/contract/views/engine.ts";
import { BACKENDS } from "../../main/contract/views/graph.ts";

const SIMULATOR = "coreml-sim";
const NO_TIME = "A simulator’s speed says nothing of the device that it simulates.";

export function testDevice(id: string, more: Partial<DeviceInfo> = {}): DeviceInfo {
  const packages = id.startsWith("coreml");
  const measured = id === SIMULATOR ? NO_TIME : true;
  return {
    id,
    title: id,
    backend: id === SIMULATOR ? "coreml" : (BACKENDS.find((each) => each.backend === id)?.backend ?? null),
    available: true,
    sentence: "",
    instead: id === "coreml" ? SIMULATOR : null,
    capabilities: {
      tokens: true,
      measure: measured,
      profile: measured,
      rewind: true,
      train: "It keeps no variables.",
      plan: id === "coreml" ? true : "There is no plan of the system.",
      graphs: packages ? "It runs packages." : true,
      segments: packages ? true : "It runs no package.",
    },
    ...more,
  };
}
