/** Which file of this model to take, once others stand under "In turn with". */
import type { ReactNode } from "react";
import { CLOSE } from "../../../main/contract/choice.ts";
import type { ChoiceRow } from "../../../main/contract/choice.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { cx } from "../../ui/cx.ts";
import { bytes, plural, share, significant } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import type { ChoiceSlice, ChosenFile } from "./choiceSlice.ts";
import type { BenchSlice } from "./slice.ts";
import styles from "./Bench.module.css";

const useChoice = sliceHook<ChoiceSlice & BenchSlice>();

/** `paths`: the files beside the open one; without, those under "In turn with". */
export function ChoiceCard({ paths }: { readonly paths?: readonly string[] }): ReactNode {
  const own = useChoice((s) => s.benchSettings.otherModels);
  const others = (paths ?? own).length;
  const measuring = useChoice((s) => s.benchRunning !== null);
  const state = useChoice((s) => s.fileChoice);
  const says = useChoice((s) => s.choiceSays);
  const text = useChoice((s) => s.choiceText);
  const setText = useChoice((s) => s.setChoiceText);
  const start = useChoice((s) => s.startChoice);
  const stop = useChoice((s) => s.stopChoice);
  const found = current(state);
  // Of other files, it would answer another question.
  const chosen = paths === undefined || found?.paths.join("\n") === paths.join("\n") ? found : null;
  if (others === 0 && chosen === null) return null;
  return (
    <Card title="Which file should I take?">
      <Note>
        Each file reads the same text; its distributions are held against those of the open file, and all are measured
        in turn.
      </Note>
      <textarea
        className={styles["text"]}
        rows={2}
        aria-label="Text that the files read"
        placeholder="A text of yours; without one, a short story"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles["actions"]}>
        {state.kind === "loading" ? (
          <Button small onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button small disabled={measuring || others === 0} onClick={() => void start(paths)}>
            Compare {plural(others + 1, "file")}
          </Button>
        )}
        <span role="status">{state.kind === "loading" ? says : ""}</span>
      </div>
      {state.kind === "failed" ? (
        <ErrorNote title="The files were not compared" error={state.error} onRetry={() => void start(paths)} />
      ) : null}
      {chosen === null ? null : <Chosen chosen={chosen} />}
    </Card>
  );
}

function Chosen({ chosen: { rows, taken, sentence, tokens } }: { readonly chosen: ChosenFile }): ReactNode {
  return (
    <>
      <p className={styles["says"]}>{sentence}</p>
      <div className={styles["scroll"]}>
        <table className={cx(table["table"], styles["result"])}>
          <thead>
            <tr>
              <th className={cx(table["left"], styles["wide"])}>file</th>
              <th>size</th>
              <th>bits</th>
              <th>perplexity</th>
              <th>KL, nats</th>
              <th>same top</th>
              <th>prefill t/s</th>
              <th>decode t/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <Row key={row.model} row={row} taken={at === taken} />
            ))}
          </tbody>
        </table>
      </div>
      <Note>
        Over {plural(tokens, "token")}; a longer text gives a finer number. Close means at most {CLOSE} nats from the
        open file.
      </Note>
    </>
  );
}

function Row({ row, taken }: { readonly row: ChoiceRow; readonly taken: boolean }): ReactNode {
  const { divergence, sameTop, prefill, decode } = row;
  const word = taken ? "take this" : row.beaten ? "beaten" : row.close ? "" : "not close";
  return (
    <tr>
      <td className={table["left"]}>
        {taken ? <b>{row.title}</b> : row.title} <span className={styles["dim"]}>{word}</span>
      </td>
      <td>{bytes(row.bytes)}</td>
      <td>{row.bitsPerWeight === null ? "–" : row.bitsPerWeight.toFixed(2)}</td>
      <td>{row.perplexity.toFixed(3)}</td>
      <td>{divergence === null ? "reference" : `${divergence.mean.toFixed(4)} ± ${divergence.error.toFixed(4)}`}</td>
      <td>{sameTop === null ? "–" : share(sameTop)}</td>
      <td>{prefill === null ? "–" : significant(prefill)}</td>
      <td>{decode === null ? "–" : significant(decode)}</td>
    </tr>
  );
}
