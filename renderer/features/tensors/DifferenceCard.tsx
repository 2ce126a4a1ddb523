/** How far a tensor is from the same one of another file. */
import type { ReactNode } from "react";
import type { DifferenceView, PlaceView } from "../../../main/contract/views/tensors.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { count, errorShare, significant, THIN } from "../../ui/format.ts";
import { numberText } from "../../ui/Histogram.tsx";

export interface DifferenceCardProps {
  /** Name of the other file. */
  readonly file: string;
  /** With the type in the other file. */
  readonly difference: DifferenceView & { readonly type: string };
}

const rowText = ({ row, expert }: PlaceView): string =>
  expert === null ? count(row) : `${count(row)} of expert ${count(expert)}`;

export function DifferenceCard({ file, difference }: DifferenceCardProps): ReactNode {
  const { type, rmse, relative, cosine, decibels, farthest, worst } = difference;
  const share = (value: number | null): string => (value === null ? "∞" : errorShare(value));
  const isSame = relative === 0;
  return (
    <Card title="Against the other file" aside={type} level={2}>
      <Facts
        rows={[
          ["relative error", share(relative)],
          ["root mean square", rmse === null ? "–" : numberText(rmse)],
          ...(farthest === null || isSame
            ? []
            : ([
                ["largest error", numberText(farthest.difference)],
                ["there", `row ${rowText(farthest.place)}, column ${count(farthest.place.column)}`],
              ] as const)),
          ["signal to noise", decibels !== null ? `${significant(decibels)}${THIN}dB` : isSame ? "∞" : "–"],
          ["cosine", cosine === null ? "–" : significant(cosine, 6)],
          ...(worst === null || isSame
            ? []
            : ([["worst row", `${rowText(worst.place)}: ${share(worst.relative)}`]] as const)),
        ]}
      />
      <Note>{file}</Note>
    </Card>
  );
}
