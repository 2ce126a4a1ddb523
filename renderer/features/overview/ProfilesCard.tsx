/** The weights as each Core ML profile would store them: size, and what that costs in exactness. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type { Overview, WeightErrors } from "../../../main/contract/views/model.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, ready } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { plainMessage } from "../../ui/ErrorNote.tsx";
import { errorShare, significant } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { useProfile } from "./useProfile.ts";
import styles from "./Overview.module.css";

export function ProfilesCard({ overview }: { readonly overview: Overview }): ReactNode {
  const { model, profiles } = overview;
  const ask = useSession((state) => state.askWeightErrors);
  const [state, setState] = useState<Async<WeightErrors>>(IDLE);
  // A header has no values to compare: then there is no column, rather than an empty one.
  const hasData = overview.kind === "model" && overview.canExport.ok;
  useEffect(() => {
    if (!hasData) return undefined;
    let live = true;
    ask({ model }).then(
      (value) => live && setState(ready(value)),
      (error: unknown) => live && setState(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [ask, model, hasData]);
  const errors = current(state)?.rows ?? null;
  const withErrors = hasData && state.kind !== "failed" && errors?.length !== 0;
  const chosen = useProfile(profiles);
  const line = errors?.find(({ profile }) => profile === chosen?.choice.profile)?.sentence ?? null;
  return (
    <Card title="As a Core ML package" aside={<TruthMark truth="predicted" />} className={styles["wide"]}>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>profile</th>
            <th className={table["left"]}>chosen for</th>
            <th>size</th>
            <th>× file</th>
            {withErrors ? <th>weight error</th> : null}
          </tr>
        </thead>
        <tbody>
          {profiles.map((row) => {
            const found = errors?.find(({ profile }) => profile === row.profile);
            return (
              <tr key={row.profile}>
                <td className={table["text"]}>
                  {row.title}
                  <span className={styles["means"]}>{row.sentence}</span>
                </td>
                <td className={table["left"]}>{chosen?.choice === row ? chosen.units : "–"}</td>
                <td>
                  <FigureText figure={row.bytes} />
                </td>
                <td>{significant(row.ratioToFile)}</td>
                {withErrors ? (
                  <td title={found === undefined ? undefined : `${found.sentence} ${found.error.basis}`}>
                    {found === undefined ? "…" : errorShare(found.error.value)}
                  </td>
                ) : null}
              </tr>
            );
          })}
        </tbody>
      </table>
      {line === null ? null : <Note>Weights for this target, from sampled rows: {line}</Note>}
      {state.kind === "failed" ? <Note>The error was not measured: {plainMessage(state.error.message)}</Note> : null}
    </Card>
  );
}
