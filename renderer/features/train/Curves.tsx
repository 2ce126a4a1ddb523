/** The curves of a run: loss and validation, the learning rate, the length of the gradient; one cursor for all of them. */
import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import { ChoiceField } from "../../ui/fields.tsx";
import { LineChart, stepsOf } from "../../ui/LineChart.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import type { TrainCurve } from "./curve.ts";
import { pointsOf, smoothLoss } from "./curve.ts";
import type { ValidationPoint } from "./live.ts";
import { validationPoints } from "./live.ts";
import { useTrain } from "./useTrain.ts";
import { rateText } from "./words.ts";
import styles from "./Train.module.css";

const SCALES = [
  { id: "log", text: "Log", hint: "Each factor of ten is as high as the next" },
  { id: "linear", text: "Linear", hint: "Equal differences are equally high" },
] as const;
const SMOOTHINGS = [
  { id: "1", title: "as it is" },
  { id: "20", title: "over 20 points" },
  { id: "100", title: "over 100 points" },
] as const;

export function CurveControls(): ReactNode {
  const view = useTrain((s) => s.curveView);
  const set = useTrain((s) => s.setCurveView);
  return (
    <div className={styles["controls"]}>
      <Segmented label="Scale of the loss" value={view.scale} options={SCALES} onChange={(scale) => set({ scale })} />
      <ChoiceField
        label="Smoothed"
        value={String(view.smoothing)}
        options={SMOOTHINGS}
        onChange={(id) => set({ smoothing: Number(id) })}
      />
    </div>
  );
}

interface CurvesProps {
  readonly curve: TrainCurve;
  readonly validation: readonly ValidationPoint[];
}

export function Curves({ curve, validation }: CurvesProps): ReactNode {
  const { scale, smoothing } = useTrain((s) => s.curveView);
  const [cursor, setCursor] = useState<number | null>(null);
  const loss = useMemo(() => {
    const points = pointsOf(curve, "loss");
    return { name: "training", points: smoothLoss(curve, { scale, smoothing }), look: 0, behind: points };
  }, [curve, scale, smoothing]);
  const rate = useMemo(() => [{ name: "rate", points: pointsOf(curve, "rate"), look: 0 }], [curve]);
  const norm = useMemo(() => [{ name: "length", points: pointsOf(curve, "norm"), look: 0 }], [curve]);
  const losses = useMemo(
    () => [
      loss,
      ...(validation.length === 0
        ? []
        : [{ name: "validation", points: validationPoints(validation), look: 1, dots: true }]),
    ],
    [loss, validation],
  );
  const shared = { text: rateText, cursor, onCursor: setCursor, steps: stepsOf(losses) };
  return (
    <div className={styles["curves"]}>
      <CurveControls />
      <LineChart label="Loss" curves={losses} kind={scale} height={220} {...shared} />
      <div className={styles["small"]}>
        <LineChart label="Learning rate" curves={rate} height={120} {...shared} />
        <LineChart label="Gradient" curves={norm} kind="log" height={120} {...shared} />
      </div>
    </div>
  );
}
