/** On which device the next answer is made, and whether another one answers the same question beside it. */
import { Columns2 } from "lucide-react";
import type { ReactNode } from "react";
import type { DeviceInfo, RunDevice } from "../../../main/contract/views/engine.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import type { PairOrder } from "./pair.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

const ORDERS: readonly { readonly id: PairOrder; readonly text: string; readonly hint: string }[] = [
  { id: "turn", text: "In turn", hint: "One after the other, each with the whole machine, so that speeds compare" },
  { id: "together", text: "At once", hint: "Both together: they share the machine, and both are slower for it" },
];

/** The default second device: a real one before the simulator. */
export function otherDevice(devices: readonly DeviceInfo[], first: RunDevice): RunDevice | null {
  const others = devices.filter(({ id, available }) => available && id !== first);
  return (others.find(({ capabilities }) => capabilities.measure === true) ?? others[0])?.id ?? null;
}

export function RunBar(): ReactNode {
  const device = useRun((s) => s.parameters.device);
  const set = useRun((s) => s.setParameters);
  const beside = useRun((s) => s.beside);
  const setBeside = useRun((s) => s.setBeside);
  const order = useRun((s) => s.pairOrder);
  const setOrder = useRun((s) => s.setPairOrder);
  const running = useRun((s) => s.running !== null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const other = otherDevice(devices ?? [], device);
  return (
    <div className={styles["runBar"]} role="group" aria-label="Where answers are made">
      <DevicePicker
        label="Answers on"
        lead="Answers on"
        value={device}
        disabled={running}
        onChange={(next) => set({ device: next })}
      />
      {beside === null ? null : (
        <>
          <DevicePicker label="Beside it" lead="and on" value={beside} disabled={running} onChange={setBeside} />
          <Segmented label="Order" value={order} options={ORDERS} onChange={setOrder} />
        </>
      )}
      <Button
        small
        aria-pressed={beside !== null}
        disabled={running || (beside === null && other === null)}
        title="The same question, with the same seed, on two devices"
        onClick={() => setBeside(beside === null ? other : null)}
      >
        <Columns2 size={13} aria-hidden="true" /> Side by side
      </Button>
    </div>
  );
}
