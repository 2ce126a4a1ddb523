/** A typical token of two recordings by op, the largest change first. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { compareRecordings } from "../../../main/contract/recordings/compare.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { seconds, significant, THIN } from "../../ui/format.ts";
import { DeviceChip } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { timeText } from "./timelineText.ts";
import styles from "./Profile.module.css";

export interface DifferenceProps {
  readonly first: ProfileView;
  readonly second: ProfileView;
}

const sign = (value: number): string => (value < 0 ? "\u2212" : value > 0 ? "+" : "");
const signedSeconds = (value: number): string => sign(value) + seconds(Math.abs(value));
const signedShare = (value: number): string => `${sign(value)}${significant(Math.abs(value) * 100)}${THIN}%`;

export function DifferenceTable({ first, second }: DifferenceProps): ReactNode {
  const { sentence, differences } = useMemo(() => compareRecordings(first, second), [first, second]);
  const hasDevices = differences.some(({ device }) => device !== differences[0]?.device);
  const timeOf = (profile: ProfileView, value: number | null): string =>
    value === null ? "–" : timeText(profile, value);
  return (
    <>
      <p className={styles["verdict"]}>{sentence}</p>
      <div className={styles["rows"]} tabIndex={0} role="region" aria-label="Differences by operation">
        <table className={table["table"]}>
          <thead>
            <tr>
              <th>operation, one token</th>
              {hasDevices ? <th className={table["left"]}>device</th> : null}
              <th>first</th>
              <th>second</th>
              <th>change</th>
              <th>of the first</th>
            </tr>
          </thead>
          <tbody>
            {differences.map((row) => (
              <tr key={`${row.kind} ${row.device} ${row.name}`}>
                <td className={table["text"]}>{row.name}</td>
                {hasDevices ? (
                  <td className={table["left"]}>
                    <DeviceChip device={row.device} />
                  </td>
                ) : null}
                <td>{timeOf(first, row.first)}</td>
                <td>{timeOf(second, row.second)}</td>
                <td>{signedSeconds(row.seconds)}</td>
                <td>{row.share === null ? "new" : row.second === null ? "gone" : signedShare(row.share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
