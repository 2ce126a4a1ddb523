/** Kept runs side by side: their losses in one picture, and the settings in which they differ. */
import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import type { TrainRun } from "../../../main/contract/views/train.ts";
import { Button } from "../../ui/Button.tsx";
import { Note } from "../../ui/Card.tsx";
import { LineChart, stepsOf } from "../../ui/LineChart.tsx";
import table from "../../ui/table.module.css";
import { CurveControls } from "./Curves.tsx";
import { curveOf, smoothLoss } from "./curve.ts";
import type { DifferenceRow } from "./differences.ts";
import { differingSettings, outcomes } from "./differences.ts";
import { FewBits } from "./FewBits.tsx";
import { validationPoints } from "./live.ts";
import { Results } from "./Results.tsx";
import { useTrain } from "./useTrain.ts";
import { rateText, sentence } from "./words.ts";
import styles from "./Train.module.css";

/** A letter for each: titles are often the same. */
const letterOf = (place: number): string => String.fromCharCode(65 + place);
const nameOf = (run: TrainRun, place: number): string => `${letterOf(place)} ${run.row.title}`;

export function ComparedRuns({ runs }: { readonly runs: readonly TrainRun[] }): ReactNode {
  const { scale, smoothing } = useTrain((s) => s.curveView);
  const [cursor, setCursor] = useState<number | null>(null);
  const losses = useMemo(
    () =>
      runs.map((run, look) => ({
        name: nameOf(run, look),
        points: smoothLoss(curveOf(run), { scale, smoothing }),
        look,
      })),
    [runs, scale, smoothing],
  );
  const validations = useMemo(
    () =>
      runs.flatMap((run, look) =>
        run.validation.length === 0
          ? []
          : [{ name: nameOf(run, look), points: validationPoints(run.validation), look, dots: true }],
      ),
    [runs],
  );
  const steps = stepsOf([...losses, ...validations]);
  const shared = { kind: scale, text: rateText, cursor, onCursor: setCursor, steps };
  return (
    <section className={styles["compared"]} aria-label="Side by side">
      <div className={styles["curves"]}>
        <CurveControls />
        <LineChart label="Loss" curves={losses} height={200} {...shared} />
        {validations.length === 0 ? null : (
          <LineChart label="Validation" curves={validations} height={140} {...shared} />
        )}
      </div>
      <Differences runs={runs} />
      {runs.map((run, place) => (
        <About key={run.row.run} run={run} name={nameOf(run, place)} />
      ))}
    </section>
  );
}

function Differences({ runs }: { readonly runs: readonly TrainRun[] }): ReactNode {
  const differing = differingSettings(runs);
  return (
    <div className={styles["scroll"]}>
      <table className={table["table"]} aria-label="How they went, and the settings that differ">
        <thead>
          <tr>
            <th className={table["left"]}>setting</th>
            {runs.map((run, place) => (
              <th key={run.row.run}>{nameOf(run, place)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...outcomes(runs), ...differing].map(({ name, values }: DifferenceRow, i) => (
            <tr key={i}>
              <td className={table["left"]}>{name}</td>
              {values.map((value, place) => (
                <td key={place}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {runs.length > 1 && differing.length === 0 ? <Note>Their settings are the same.</Note> : null}
    </div>
  );
}

function About({ run, name }: { readonly run: TrainRun; readonly name: string }): ReactNode {
  const like = useTrain((s) => s.trainLike);
  const { data, update, alarm, samples, row, quantized } = run;
  const last = samples.at(-1);
  return (
    <div className={styles["about"]}>
      <h4>{name}</h4>
      <p className={styles["says"]}>
        {row.device}. {sentence(data)} {update.reason}
      </p>
      {alarm === null ? null : (
        <p className={styles["marked"]}>
          {alarm.sentence} {alarm.advice}
        </p>
      )}
      {quantized === null ? null : <FewBits quantized={quantized} />}
      {last === undefined ? null : (
        <p className={styles["sample"]}>
          <span className={styles["prompt"]}>{last.prompt}</span>
          {last.text}
        </p>
      )}
      <div className={styles["actions"]}>
        <Button small onClick={() => like(run.spec)}>
          Take its settings
        </Button>
      </div>
      <Results results={row.results} />
    </div>
  );
}
