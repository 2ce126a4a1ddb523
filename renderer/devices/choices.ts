/** The devices that can be chosen for a task, each with what it is or what is missing, and the one to take instead. */
import type { DeviceInfo, RunDevice } from "../../main/contract/views/engine.ts";
import type { DeviceAdvice } from "../../main/contract/views/machine.ts";

export interface DeviceChoice {
  readonly id: RunDevice;
  readonly title: string;
  /** What it is here, or in one sentence why it cannot be chosen. */
  readonly sentence: string;
  readonly usable: boolean;
  /** What does the same work here: the simulator where Core ML is missing. */
  readonly instead: { readonly id: RunDevice; readonly title: string } | null;
  /** Seconds by calibration, for the tokens of the advice. */
  readonly seconds: number | null;
  readonly fastest: boolean;
}

/** Devices that a task refuses, with the reason. */
export type Refusals = Partial<Readonly<Record<RunDevice, string>>>;

export const SIMULATED_TIME = "A simulator’s speed says nothing of the device that it simulates.";

export function deviceChoices(
  devices: readonly DeviceInfo[],
  advice: DeviceAdvice | null,
  refused: Refusals = {},
): readonly DeviceChoice[] {
  const free = (id: RunDevice): DeviceInfo | undefined =>
    refused[id] === undefined ? devices.find((each) => each.id === id && each.available) : undefined;
  return devices.map(({ id, title, available, sentence }) => {
    const refusal = refused[id];
    const simulator = id === "coreml" && !available ? free("coreml-sim") : undefined;
    return {
      id,
      title,
      usable: available && refusal === undefined,
      // What is missing comes first: a refusal would not be the only obstacle.
      sentence: available ? (refusal ?? sentence) : sentence,
      instead: simulator === undefined ? null : { id: simulator.id, title: simulator.title },
      seconds: advice?.devices.find(({ device }) => device === id)?.seconds?.value ?? null,
      fastest: advice?.best === id,
    };
  });
}

export const deviceTitle = (devices: readonly DeviceInfo[] | null, id: RunDevice): string =>
  devices?.find((each) => each.id === id)?.title ?? id;
