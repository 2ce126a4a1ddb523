/** What a net loses in few bits: in floats, calibrated, and trained on, over the same data that is held back. */
import type { ReactNode } from "react";
import type { TrainQuantized } from "../../../main/contract/views/train.ts";
import { count, fineShare } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import { lossText } from "./words.ts";
import styles from "./Train.module.css";

export function FewBits({ quantized }: { readonly quantized: TrainQuantized }): ReactNode {
  const { weights, activations, step, floats, calibrated, trained } = quantized;
  const rows = [
    ["in floats", floats],
    [`calibrated at step ${count(step)}`, calibrated],
    ...(trained === null ? [] : [["trained on in few bits", trained] as const]),
  ] as const;
  const hasAnswers = floats.accuracy !== null;
  return (
    <div className={styles["scroll"]}>
      <table className={table["table"]} aria-label="In few bits">
        <thead>
          <tr>
            <th className={table["left"]}>
              weights in {weights} bits, activations in {activations}
            </th>
            <th>validation</th>
            {hasAnswers ? <th>right answers</th> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, { loss, accuracy }]) => (
            <tr key={name}>
              <td className={table["left"]}>{name}</td>
              <td>{lossText(loss)}</td>
              {accuracy === null ? null : <td>{fineShare(accuracy)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
