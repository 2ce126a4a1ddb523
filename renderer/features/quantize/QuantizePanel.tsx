/** The model as a smaller GGUF: a recipe with exceptions and what it gives, and what each tensor lost. */
import type { ReactNode } from "react";
import type { QuantizePlanView } from "../../../main/contract/views/quantize.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { ChoiceField } from "../../ui/fields.tsx";
import { bytes, count, errorShare, figureText } from "../../ui/format.ts";
import fields from "../../ui/fields.module.css";
import { Empty } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { WritePanel, Written } from "../../writing/WritePanel.tsx";
import type { QuantizeChoice, QuantizeReport, QuantizeSlice } from "./slice.ts";
import { overridesIn } from "./slice.ts";
import styles from "./Quantize.module.css";

const useQuantize = sliceHook<QuantizeSlice>();

const WORDS = { thing: "file", verb: "Quantise", title: "A smaller GGUF of this model" } as const;

export function QuantizePanel(): ReactNode {
  const overview = useQuantize((s) => current(s.model));
  const state = useQuantize((s) => s.quantizing);
  const actions = useQuantize((s) => s.quantizeActions);
  const choice = useQuantize((s) => s.quantizeChoice);
  if (overview === null) return null;
  if (overview.file === null)
    return <Empty title="There is no file to quantise">Open a GGUF file to write it in smaller types.</Empty>;
  const { report, work } = state;
  return (
    <WritePanel
      words={WORDS}
      state={state}
      actions={actions}
      about={overview.model}
      report={report === null ? null : <Report report={report} before={work.kind !== "none"} />}
    >
      {(plan) => ({ body: <Choices plan={plan} />, lacks: lacking(plan, choice) })}
    </WritePanel>
  );
}

/** Why a recipe cannot be used as chosen. */
function lacking(plan: QuantizePlanView, { recipe, importance, overrides }: QuantizeChoice): string | null {
  const { wrong } = overridesIn(overrides);
  if (wrong !== null) return `This exception is not of the form pattern=type: ${wrong}`;
  const needs = plan.recipes.some(({ id, needsImportance }) => id === recipe && needsImportance);
  return needs && importance.trim() === ""
    ? `${recipe.toUpperCase()} needs an importance matrix. Give one, or choose a recipe with more bits.`
    : null;
}

function Choices({ plan }: { readonly plan: QuantizePlanView }): ReactNode {
  const { recipe, importance, overrides, pure } = useQuantize((s) => s.quantizeChoice);
  const choose = useQuantize((s) => s.setQuantizeChoice);
  return (
    <>
      <div className={styles["choices"]}>
        <ChoiceField
          label="Recipe"
          value={recipe}
          options={plan.recipes.map(({ id }) => ({ id, title: id.toUpperCase() }))}
          onChange={(next) => choose({ recipe: next })}
        />
        <input
          className={fields["path"]}
          aria-label="Importance matrix"
          placeholder="Importance matrix, a GGUF; optional"
          value={importance}
          spellCheck={false}
          onChange={(event) => choose({ importance: event.target.value })}
        />
      </div>
      <details className={styles["exceptions"]}>
        <summary>Exceptions</summary>
        <label className={styles["area"]}>
          <span>Other types where a name matches, one per line; * stands for anything</span>
          <textarea
            className={cx(fields["path"], styles["rules"])}
            rows={2}
            placeholder={"*ffn_down*=q6_k"}
            value={overrides}
            spellCheck={false}
            onChange={(event) => choose({ overrides: event.target.value })}
          />
        </label>
        <label className={styles["check"]}>
          <input type="checkbox" checked={pure} onChange={(event) => choose({ pure: event.target.checked })} />
          one type for every weight
        </label>
      </details>
      <p className={styles["sentence"]}>{plan.sentence}</p>
      <table className={cx(table["table"], table["bleed"])}>
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
    </>
  );
}

const WORST = 20;

function Report({ report, before }: { readonly report: QuantizeReport; readonly before: boolean }): ReactNode {
  const worst = report.tensors
    .filter(({ relativeRms }) => relativeRms > 0)
    .toSorted((a, b) => b.relativeRms - a.relativeRms)
    .slice(0, WORST);
  return (
    <Written
      seconds={figureText(report.seconds)}
      paths={report.path === null ? [] : [report.path]}
      before={before}
      sentence={report.sentence}
      opens
    >
      {worst.length === 0 ? null : (
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
      )}
    </Written>
  );
}
