/** Beside the tab, while a run of this window is there: its speed, where it runs and why, the gradient of each layer. */
import type { ReactNode } from "react";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, duration, significant } from "../../ui/format.ts";
import { FigureText, Meter } from "../../ui/marks.tsx";
import { median } from "../../ui/median.ts";
import { Sparkline } from "../../ui/Sparkline.tsx";
import type { LiveRun } from "./live.ts";
import { isOver } from "./live.ts";
import type { LayerNorm } from "./norms.ts";
import { normShare } from "./norms.ts";
import { useTrain } from "./useTrain.ts";
import { rateText, speedText } from "./words.ts";
import styles from "./Train.module.css";

export function TrainInspector({ children }: { readonly children: ReactNode }): ReactNode {
  const run = useTrain((s) => s.trainRun);
  if (run === null || run.started === null) return children;
  return (
    <>
      <h2 className={styles["heading"]}>Live</h2>
      <SpeedCard run={run} />
      <WhereCard run={run} />
      <LayersCard norms={run.norms} />
    </>
  );
}

function SpeedCard({ run }: { readonly run: LiveRun }): ReactNode {
  const { speed, speeds } = run;
  const left = isOver(run) ? null : (speed?.secondsLeft ?? null);
  const middle = median(speeds);
  return (
    <Card title="Steps per second">
      {speeds.length < 2 ? (
        <p className={styles["says"]}>The speed is drawn here while it trains.</p>
      ) : (
        <Sparkline values={speeds} label={`Steps per second, median ${significant(middle ?? 0)}`} />
      )}
      <Facts
        rows={[
          ["now", speed === null ? "–" : speedText(speed.stepsPerSecond)],
          ["median", middle === undefined ? "–" : speedText(middle)],
          ["trained for", speed === null ? "–" : duration(Math.floor(speed.elapsedSeconds))],
          ["left", left === null ? "–" : duration(Math.ceil(left))],
        ]}
      />
    </Card>
  );
}

function WhereCard({ run: { started, speed } }: { readonly run: LiveRun }): ReactNode {
  if (started === null) return null;
  const { deviceTitle, update, parameters, trainedParameters, memory, settings } = started;
  return (
    <Card title="Where it runs" aside={deviceTitle}>
      <Facts
        rows={[
          ["path", update.path],
          ["update", update.fused ? "on the device" : "beside the device"],
          ["precision", settings.precision],
          ["parameters trained", count(trainedParameters)],
          ...(trainedParameters === parameters ? [] : [["of", count(parameters)] as const]),
          ["memory needed", <FigureText key="memory" figure={memory} />],
          ["engine now", speed === null ? "–" : bytes(speed.memoryBytes)],
        ]}
      />
      <Note>{update.reason}</Note>
    </Card>
  );
}

/** The gradient of each layer, as bars over powers of ten: a layer that stands still, or runs away, is seen at once. */
export function LayersCard({
  norms,
}: {
  readonly norms: { readonly step: number; readonly norms: readonly LayerNorm[] } | null;
}): ReactNode {
  return (
    <Card title="Gradient by layer" aside={norms === null ? "" : `step ${count(norms.step)}`}>
      {norms === null || norms.norms.length === 0 ? (
        <p className={styles["says"]}>The length of each layer’s gradient is drawn here.</p>
      ) : (
        norms.norms.map(({ layer, norm }) => (
          <div key={layer} className={styles["layer"]}>
            <span className={styles["layerName"]} title={layer}>
              {layer}
            </span>
            <Meter value={normShare(norm, norms.norms)} label={`${layer}, ${rateText(norm)}`} />
            <span className={styles["norm"]}>{rateText(norm)}</span>
          </div>
        ))
      )}
    </Card>
  );
}
