/** The model as a smaller GGUF: a recipe and what it gives, progress with cancel, and what each tensor lost. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { QuantizePlanView } from "../../../main/contract/views/quantize.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { bytes, count, errorShare, figureText } from "../../ui/format.ts";
import { Empty, Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import type { QuantizeReport, QuantizeSlice } from "./slice.ts";
import styles from "./Quantize.module.css";

const useQuantize = sliceHook<QuantizeSlice>();

export function QuantizePanel(): ReactNode {
  const overview = useQuantize((s) => current(s.model));
  const load = useQuantize((s) => s.loadQuantizePlan);
  const state = useQuantize((s) => s.quantizePlan);
  const report = useQuantize((s) => s.quantizeReport);
  useEffect(() => void load(), [load, overview?.model]);
  if (overview === null) return null;
  if (overview.file === null)
    return <Empty title="There is no file to quantise">Open a GGUF file to write it in smaller types.</Empty>;
  const plan = current(state);
  return (
    <div className={styles["panel"]}>
      {state.kind === "failed" ? (
        <ErrorNote title="The file could not be planned" error={state.error} onRetry={() => void load()} />
      ) : plan === null ? (
        <Progress sentence="Planning the file" fraction={null} />
      ) : (
        <PlanCard plan={plan} />
      )}
      <Outcome />
      {report === null ? null : <Report report={report} />}
    </div>
  );
}

function PlanCard({ plan }: { readonly plan: QuantizePlanView }): ReactNode {
  const recipe = useQuantize((s) => s.recipe);
  const setRecipe = useQuantize((s) => s.setRecipe);
  const importance = useQuantize((s) => s.importancePath);
  const setImportance = useQuantize((s) => s.setImportancePath);
  const running = useQuantize((s) => s.quantizeRunning);
  const chosen = plan.recipes.find(({ id }) => id === recipe);
  const lacks = chosen?.needsImportance === true && importance.trim() === "";
  return (
    <Card title="A smaller GGUF of this model">
      <div className={styles["choices"]}>
        <ChoiceField
          label="Recipe"
          value={recipe}
          options={plan.recipes.map(({ id }) => ({ id, title: id.toUpperCase() }))}
          onChange={setRecipe}
        />
        <input
          aria-label="Importance matrix"
          placeholder="Importance matrix, a GGUF; optional"
          value={importance}
          spellCheck={false}
          disabled={running}
          onChange={(event) => setImportance(event.target.value)}
        />
      </div>
      <p>{plan.sentence}</p>
      <table className={table["table"]}>
        <thead>
          <tr>
            <th>type</th>
            <th>tensors</th>
            <th>size</th>
          </tr>
        </thead>
        <tbody>
          {plan.types.map((row) => (
            <tr key={row.type}>
              <td>{row.type.toUpperCase()}</td>
              <td>{count(row.tensors)}</td>
              <td>{bytes(row.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!plan.can.ok ? (
        <Note>
          {plan.can.sentence} {plan.can.hint ?? ""}
        </Note>
      ) : lacks ? (
        <Note>{recipe.toUpperCase()} needs an importance matrix. Give one, or choose a recipe with more bits.</Note>
      ) : (
        <Where plan={plan} />
      )}
    </Card>
  );
}

function Where({ plan }: { readonly plan: QuantizePlanView }): ReactNode {
  const path = useQuantize((s) => s.quantizePath);
  const setPath = useQuantize((s) => s.setQuantizePath);
  const overwrite = useQuantize((s) => s.quantizeOverwrite);
  const setOverwrite = useQuantize((s) => s.setQuantizeOverwrite);
  const running = useQuantize((s) => s.quantizeRunning);
  const start = useQuantize((s) => s.startQuantize);
  return (
    <>
      <div className={styles["where"]}>
        <input
          aria-label="Where to write the file"
          value={path}
          spellCheck={false}
          disabled={running}
          onChange={(event) => setPath(event.target.value)}
        />
        <Button look="primary" disabled={running || path.trim() === ""} onClick={() => void start()}>
          Quantise
        </Button>
      </div>
      <div className={styles["below"]}>
        <label className={styles["replace"]}>
          <input
            type="checkbox"
            checked={overwrite}
            disabled={running}
            onChange={(event) => setOverwrite(event.target.checked)}
          />{" "}
          replace an existing file
        </label>
        {plan.freeDiskBytes === null ? null : <span>{bytes(plan.freeDiskBytes)} free beside the model</span>}
      </div>
    </>
  );
}

function Outcome(): ReactNode {
  const running = useQuantize((s) => s.quantizeRunning);
  const progress = useQuantize((s) => s.quantizeProgress);
  const since = useQuantize((s) => s.quantizeSince);
  const error = useQuantize((s) => s.quantizeError);
  const said = useQuantize((s) => s.quantizeSaid);
  const stop = useQuantize((s) => s.stopQuantize);
  return (
    <>
      {running ? (
        <Card
          title="Writing"
          aside={progress === null ? undefined : `${bytes(progress.doneBytes)} of ${bytes(progress.totalBytes)}`}
        >
          <Progress
            sentence={progress === null ? "Starting" : `${progress.tensor}, ${progress.done} of ${progress.of} tensors`}
            fraction={progress === null ? null : progress.doneBytes / Math.max(1, progress.totalBytes)}
            since={since}
          />
          <div className={styles["below"]}>
            <Button small onClick={stop}>
              Cancel
            </Button>
            <span>Written under another name until it is complete.</span>
          </div>
        </Card>
      ) : null}
      {error === null ? null : <ErrorNote title="The file was not written" error={error} />}
      {said === "" ? null : <p role="status">{said}</p>}
    </>
  );
}

const WORST = 20;

function Report({ report }: { readonly report: QuantizeReport }): ReactNode {
  const open = useQuantize((s) => s.open);
  const worst = report.tensors
    .filter(({ relativeRms }) => relativeRms > 0)
    .toSorted((a, b) => b.relativeRms - a.relativeRms)
    .slice(0, WORST);
  const { path } = report;
  return (
    <Card
      title={`Written in ${figureText(report.seconds)}`}
      aside={
        path === null ? undefined : (
          <Button small onClick={() => void open({ kind: "path", path })}>
            Open it
          </Button>
        )
      }
    >
      <p className={styles["path"]}>{path}</p>
      <p>{report.sentence}</p>
      <table className={cx(table["table"], styles["errors"])} aria-label="Largest errors">
        <thead>
          <tr>
            <th>largest errors</th>
            <th>from</th>
            <th>to</th>
            <th>error</th>
          </tr>
        </thead>
        <tbody>
          {worst.map((row) => (
            <tr key={row.name}>
              <td>{row.name}</td>
              <td>{row.from.toUpperCase()}</td>
              <td>{row.to.toUpperCase()}</td>
              <td>{errorShare(row.relativeRms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
