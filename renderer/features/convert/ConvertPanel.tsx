/** The model as other GGUF files: from another container, in another type, split or merged. */
import type { ReactNode } from "react";
import type { ConvertPlanView } from "../../../main/contract/views/convert.ts";
import { CONVERT_TYPES } from "../../../main/contract/views/convert.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { ChoiceField, NumberField } from "../../ui/fields.tsx";
import { bytes, count, figureText, plural } from "../../ui/format.ts";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { WritePanel, Written } from "../../writing/WritePanel.tsx";
import type { ConvertSlice } from "./slice.ts";
import { convertTypeOf } from "./slice.ts";
import styles from "./Convert.module.css";

const useConvert = sliceHook<ConvertSlice>();

const WORDS = { thing: "file", verb: "Convert", title: "Other GGUF files of this model" } as const;

const TYPES = [
  { id: "", title: "as they are" },
  ...CONVERT_TYPES.map((type) => ({ id: type, title: type.toUpperCase() })),
];
const SPLITS = [
  { id: "none", text: "One file" },
  { id: "megabytes", text: "By size" },
  { id: "tensors", text: "By tensors" },
] as const;

export function ConvertPanel(): ReactNode {
  const overview = useConvert((s) => current(s.model));
  const state = useConvert((s) => s.converting);
  const actions = useConvert((s) => s.convertActions);
  if (overview === null) return null;
  if (overview.file === null)
    return <Empty title="There is no file to convert">Open a model file to write it as another.</Empty>;
  const { report, work } = state;
  return (
    <WritePanel
      words={WORDS}
      state={state}
      actions={actions}
      about={overview.model}
      aside={(plan) => `read from ${plan.from}`}
      report={
        report === null ? null : (
          <Written
            seconds={figureText(report.seconds)}
            paths={report.paths}
            before={work.kind !== "none"}
            sentence={report.sentence}
            opens
          />
        )
      }
    >
      {(plan) => ({ body: <Choices plan={plan} /> })}
    </WritePanel>
  );
}

function Choices({ plan }: { readonly plan: ConvertPlanView }): ReactNode {
  const { type, split, megabytes, tensors } = useConvert((s) => s.convertChoice);
  const choose = useConvert((s) => s.setConvertChoice);
  return (
    <>
      <div className={styles["choices"]}>
        <ChoiceField
          label="Matrices"
          value={type}
          options={TYPES}
          onChange={(next) => choose({ type: convertTypeOf(next) })}
        />
        <Segmented label="How many files" value={split} options={SPLITS} onChange={(next) => choose({ split: next })} />
        {split === "megabytes" ? (
          <NumberField
            whole
            label="At most MB"
            value={megabytes}
            min={1}
            max={1_000_000}
            digits={7}
            onChange={(next) => choose({ megabytes: next })}
          />
        ) : split === "tensors" ? (
          <NumberField
            whole
            label="At most tensors"
            value={tensors}
            min={1}
            max={100_000}
            digits={6}
            onChange={(next) => choose({ tensors: next })}
          />
        ) : null}
      </div>
      <p className={styles["sentence"]}>{plan.sentence}</p>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>as read</th>
            <th className={table["left"]}>as written</th>
            <th>tensors</th>
            <th>size</th>
          </tr>
        </thead>
        <tbody>
          {plan.types.map((row) => (
            <tr key={`${row.from} ${row.to}`}>
              <td>{row.from.toUpperCase()}</td>
              <td className={table["left"]}>{row.to.toUpperCase()}</td>
              <td>{count(row.tensors)}</td>
              <td>{bytes(row.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {plan.parts.length === 1 ? null : <Parts plan={plan} />}
    </>
  );
}

const MOST_PARTS = 6;

function Parts({ plan: { parts } }: { readonly plan: ConvertPlanView }): ReactNode {
  return (
    <ul className={styles["parts"]} aria-label="Files">
      {parts.slice(0, MOST_PARTS).map(({ name, bytes: size, tensors }, i) => (
        <li key={name}>
          File {i + 1}: {plural(tensors, "tensor")}, {bytes(size)}
        </li>
      ))}
      {parts.length > MOST_PARTS ? <li>and {count(parts.length - MOST_PARTS)} more</li> : null}
    </ul>
  );
}
