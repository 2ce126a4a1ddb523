/** This Mac for the contract, and in lines for the doctor. */
import type { MacFacts } from "../../../contract/views/mac.ts";
import type { CoremlAccess } from "./device.ts";
import { coremlMissing } from "./device.ts";

/** null where there is no Core ML. */
export function macFacts(coreml: CoremlAccess): MacFacts | null {
  if (coremlMissing(coreml) !== undefined) return null;
  const bridge = coreml.bridge();
  const { osMajor: _major, osMinor: _minor, ...facts } = bridge.machine();
  return { ...facts, truth: bridge.truth };
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

export function macLines(mac: MacFacts): string[] {
  const { performanceCores: fast, efficiencyCores: slow } = mac;
  const ane = mac.aneCores > 0 ? `${mac.aneCores} cores` : "there, its cores are not told";
  return [
    `Chip: ${mac.chip} (${mac.model}), ${fast > 0 ? `${fast} performance and ${slow} efficiency cores` : "cores of one kind"}${mac.rosetta ? "; this program runs translated by Rosetta" : ""}`,
    `System: macOS ${mac.os}`,
    `Neural Engine: ${mac.ane ? ane : "none"}`,
    `GPU: ${mac.gpu === "" ? "none" : `${mac.gpu}, up to ${gigabytes(mac.gpuBytes)}${mac.unifiedMemory ? " of shared memory" : ""}`}`,
    `Memory: ${gigabytes(mac.memoryBytes)}${mac.processBytes > 0 ? `, ${gigabytes(mac.processBytes)} charged to the engine` : ""}`,
    `Thermal state: ${mac.thermal}; low power mode: ${mac.lowPower ? "on" : "off"}`,
  ];
}
