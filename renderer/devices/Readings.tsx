/** Heat, power, memory and load as the machine tells them; what it does not tell says so. */
import type { ReactNode } from "react";
import type { Reading } from "../../main/contract/views/machine.ts";
import { Facts } from "../ui/Facts.tsx";
import styles from "./Devices.module.css";

export function Readings({ readings }: { readonly readings: readonly Reading[] }): ReactNode {
  return (
    <Facts
      rows={readings.map(({ id, title, value, source, state }) => [
        title,
        <span key={id} className={styles[state]} title={source}>
          {value ?? source}
        </span>,
      ])}
    />
  );
}
