/** For a graph in text: which pass changed what it computes, with what each moved and how far it is from the reference. */
import type { ReactNode } from "react";
import { distanceText } from "../../../main/contract/distance.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { PRECISIONS } from "../../devices/precisions.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { count } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import type { PipelineSlice } from "./slice.ts";
import type { ResultSlice } from "./resultSlice.ts";
import styles from "./Lane.module.css";

const useResult = sliceHook<ResultSlice & PipelineSlice>();

const HEADS = ["Step", "Nodes", "Hits", "Change", "From the reference"] as const;

export function ResultBisect(): ReactNode {
  const isText = useResult((s) => current(s.model)?.kind === "text");
  const state = useResult((s) => s.resultBisection);
  if (!isText) return null;
  return (
    <section className={styles["result"]} aria-label="Which pass changed the result">
      <Asked />
      {state.kind === "failed" ? <ErrorNote title="The steps could not be run" error={state.error} /> : <Found />}
    </section>
  );
}

function Asked(): ReactNode {
  const devices = useResult((s) => current(s.info)?.devices ?? null);
  const form = useResult((s) => s.resultForm);
  const setForm = useResult((s) => s.setResultForm);
  const isRunning = useResult((s) => s.resultBisection.kind === "loading");
  const bisect = useResult((s) => s.bisectResult);
  const stop = useResult((s) => s.stopBisectResult);
  const able = (devices ?? []).filter(({ available, capabilities }) => available && capabilities.graphs === true);
  return (
    <div className={styles["tools"]}>
      <ChoiceField
        label="Which pass changed the result on"
        value={form.device}
        options={able.map(({ id, title }) => ({ id, title }))}
        onChange={(chosen) => setForm({ device: chosen })}
      />
      <ChoiceField
        label="in"
        value={form.precision}
        options={PRECISIONS}
        onChange={(chosen) => setForm({ precision: precision.parse(chosen) })}
      />
      <Button small onClick={isRunning ? stop : () => void bisect()}>
        {isRunning ? "Stop" : "Find the pass"}
      </Button>
      {isRunning ? <span className={styles["note"]}>Running each step …</span> : null}
    </div>
  );
}

function Found(): ReactNode {
  const found = useResult((s) => current(s.resultBisection));
  const choosePass = useResult((s) => s.choosePass);
  const passes = useResult((s) => current(s.passes)?.passes);
  if (found === null) return null;
  return (
    <>
      <output aria-live="polite">{found.sentence}</output>
      <div className={styles["resultSteps"]} tabIndex={0} role="region" aria-label="Result after each step">
        <table className={table["table"]}>
          <thead>
            <tr>
              {HEADS.map((head, i) => (
                <th key={head} scope="col" className={cx(i === 0 && table["left"])}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.steps.map(({ name, nodes, hits, change, error }) => (
              <tr key={name} aria-current={name === found.step ? "step" : undefined}>
                <td className={table["left"]}>
                  {passes?.some((pass) => pass.name === name) === true ? (
                    <Button small look="ghost" onClick={() => choosePass(name)}>
                      {name}
                    </Button>
                  ) : (
                    name
                  )}
                </td>
                <td>{count(nodes)}</td>
                <td>{count(hits)}</td>
                <td>{distanceText(change)}</td>
                <td>{distanceText(error)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
