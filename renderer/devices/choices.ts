/** The devices for a task: what each one is, or why it is missing and which one to take instead. */
import type { Capability, DeviceInfo, RunDevice } from "../../main/contract/views/engine.ts";
import type { DeviceAdvice } from "../../main/contract/views/machine.ts";

export interface DeviceChoice {
  readonly id: RunDevice;
  readonly title: string;
  /** A description, or one sentence on why the device cannot be chosen. */
  readonly sentence: string;
  readonly usable: boolean;
  /** The device that does the same work here if this one is missing. */
  readonly instead: { readonly id: RunDevice; readonly title: string } | null;
  /** Seconds by calibration, for the tokens of the advice. */
  readonly seconds: number | null;
  readonly fastest: boolean;
}

export function deviceChoices(
  devices: readonly DeviceInfo[],
  advice: DeviceAdvice | null,
  needs: Capability = "tokens",
): readonly DeviceChoice[] {
  const usable = ({ available, capabilities }: DeviceInfo): boolean => available && capabilities[needs] === true;
  return devices.map((device) => {
    const { id, title, available, sentence, capabilities } = device;
    const can = capabilities[needs];
    const other = available ? undefined : devices.find((each) => each.id === device.instead && usable(each));
    return {
      id,
      title,
      usable: usable(device),
      // A missing device says so first, before its lack of a capability.
      sentence: available && can !== true ? can : sentence,
      instead: other === undefined ? null : { id: other.id, title: other.title },
      seconds: advice?.devices.find(({ device }) => device === id)?.seconds?.value ?? null,
      fastest: advice?.best === id,
    };
  });
}

export const deviceTitle = (devices: readonly DeviceInfo[] | null, id: RunDevice): string =>
  devices?.find((each) => each.id === id)?.title ?? id;
