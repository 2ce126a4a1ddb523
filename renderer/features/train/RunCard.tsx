/** A run of this window: how far it is, its curves, its words, what went wrong and what it wrote. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes, count, duration, fineShare } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { Curves } from "./Curves.tsx";
import { FewBits } from "./FewBits.tsx";
import type { LiveRun, LiveState } from "./live.ts";
import { fractionOf, isOver, stepOf } from "./live.ts";
import { Results } from "./Results.tsx";
import { isThereAlready } from "./slice.ts";
import { useTrain } from "./useTrain.ts";
import { lossText, rateText, speedText } from "./words.ts";
import styles from "./Train.module.css";

const SAYS: Readonly<Record<LiveState, string>> = {
  starting: "Starting",
  running: "Training",
  pausing: "Pausing after this step",
  paused: "Paused",
  resuming: "Going on",
  stopping: "Stopping after this step",
  done: "Trained",
  stopped: "Stopped",
  failed: "Failed",
  dropped: "Dropped",
};

export function RunCard({ run }: { readonly run: LiveRun }): ReactNode {
  const { started, state, title, alarm, error, ended, samples } = run;
  const goesOn = !isOver(run);
  const left = run.speed?.secondsLeft ?? null;
  return (
    <Card
      title={`${SAYS[state]}: ${title}`}
      aside={
        started === null
          ? ""
          : `step ${count(stepOf(run))} of ${count(started.steps)}${goesOn && left !== null && state !== "paused" ? `, about ${duration(Math.max(1, Math.ceil(left)))} left` : ""}`
      }
    >
      <div className={styles["run"]}>
        {goesOn ? (
          <Progress
            sentence={started === null ? run.phase.sentence : `${SAYS[state]} on ${started.deviceTitle}`}
            fraction={fractionOf(run)}
            since={run.since}
          />
        ) : null}
        {ended === null ? null : <p role="status">{ended.sentence}</p>}
        {state === "dropped" ? <Note>It was ended at once, and nothing of it was written.</Note> : null}
        {alarm === null ? null : <Alarm run={run} />}
        {error === null ? null : <Failed run={run} />}
        <Buttons run={run} />
        {started === null ? null : (
          <>
            <Figures run={run} />
            <Curves curve={run.curve} validation={run.validation} />
          </>
        )}
        {run.quantized === null ? null : <FewBits quantized={run.quantized} />}
        {samples.length === 0 ? null : <Samples run={run} />}
        <Results results={run.results} />
      </div>
    </Card>
  );
}

function Alarm({ run: { alarm } }: { readonly run: LiveRun }): ReactNode {
  if (alarm === null) return null;
  const { step, op, place, sentence, advice } = alarm;
  return (
    <div className={styles["alarm"]} role="alert">
      <strong>A number is none, at step {count(step)}</strong>
      <p>{sentence}</p>
      <p className={styles["says"]}>
        {op === null ? "" : `First in ${op}, `}in {place}. {advice}
      </p>
    </div>
  );
}

function Failed({ run: { error } }: { readonly run: LiveRun }): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const start = useTrain((s) => s.startTraining);
  if (error === null) return null;
  return (
    <ErrorNote title="The training failed" error={error}>
      {isThereAlready(error) ? (
        <Button
          small
          onClick={() => {
            set({ overwrite: true });
            void start();
          }}
        >
          Write in its place
        </Button>
      ) : null}
    </ErrorNote>
  );
}

function Buttons({ run }: { readonly run: LiveRun }): ReactNode {
  const pause = useTrain((s) => s.pauseTraining);
  const resume = useTrain((s) => s.resumeTraining);
  const stop = useTrain((s) => s.stopTraining);
  const drop = useTrain((s) => s.dropTraining);
  const show = useTrain((s) => s.showTrainForm);
  const formShown = useTrain((s) => s.trainFormShown);
  const known = useTrain((s) => current(s.trainRecipes) !== null);
  const { state, started } = run;
  if (isOver(run))
    return formShown || !known ? null : (
      <div className={styles["actions"]}>
        <Button look="primary" onClick={() => show(true)}>
          Train again
        </Button>
      </div>
    );
  return (
    <div className={styles["actions"]}>
      {state === "paused" || state === "resuming" ? (
        <Button look="primary" disabled={state === "resuming"} onClick={() => void resume()}>
          Go on
        </Button>
      ) : (
        <Button disabled={state !== "running"} onClick={() => void pause()}>
          Pause
        </Button>
      )}
      <Button
        title="Ends it after this step, and writes what it has learnt"
        disabled={started === null || state === "stopping"}
        onClick={() => void stop()}
      >
        Stop
      </Button>
      <Button title="Ends it at once, and writes nothing" onClick={drop}>
        Drop
      </Button>
    </div>
  );
}

/** The numbers that are watched. */
function Figures({ run }: { readonly run: LiveRun }): ReactNode {
  const { curve, validation, speed } = run;
  const last = validation.at(-1);
  const rows: readonly (readonly [string, string])[] = [
    ["loss", lossText(curve.loss.at(-1))],
    ["validation", lossText(last?.loss)],
    ...(last === undefined || last.accuracy === null ? [] : [["right answers", fineShare(last.accuracy)] as const]),
    ["learning rate", rateText(curve.rate.at(-1))],
    ["speed", speed === null ? "–" : speedText(speed.stepsPerSecond)],
    ["memory", speed === null ? "–" : bytes(speed.memoryBytes)],
  ];
  return (
    <dl className={styles["figures"]}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Samples({ run: { samples } }: { readonly run: LiveRun }): ReactNode {
  return (
    <section className={styles["samples"]} aria-label="Samples of its words, the newest first" tabIndex={0}>
      <h4>Its words while it learns</h4>
      <ol>
        {samples.map(({ step, prompt, text }) => (
          <li key={step}>
            <span className={styles["step"]}>step {count(step)}</span>
            <p>
              <span className={styles["prompt"]}>{prompt}</span>
              {text}
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}
