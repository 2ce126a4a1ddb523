/** Earlier runs as a table; a click puts one back into the composer, two ticks lay two side by side. */
import type { ReactNode } from "react";
import { useEffect, useMemo, useRef } from "react";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { figureText, plural, significant } from "../../ui/format.ts";
import { saveText } from "../../ui/saveText.ts";
import table from "../../ui/table.module.css";
import type { RunRecord } from "./history.ts";
import { changedParameters, compareSpeeds, runName, runsJson } from "./history.ts";
import { diffWords } from "../../ui/textDiff.ts";
import { useRun } from "./useRun.ts";
import styles from "./RunHistory.module.css";

const clock = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

export function RunHistory(): ReactNode {
  const runs = useRun((s) => s.runHistory);
  const compared = useRun((s) => s.comparedRuns);
  const show = useRun((s) => s.showHistory);
  // The older one stands on the left, whichever was ticked first.
  const chosen = runs.filter(({ id }) => compared.includes(id)).sort((a, b) => a.id - b.id);
  const [left, right] = chosen;
  const region = useRef<HTMLDivElement>(null);
  useEffect(() => region.current?.focus(), []);
  return (
    <div ref={region} className={styles["history"]} role="region" aria-label="Earlier runs" tabIndex={0}>
      <Card title="Runs of this session" aside={plural(runs.length, "run")}>
        <table className={cx(table["table"], table["bleed"], styles["runs"])}>
          <thead>
            <tr>
              <th>
                <span className="visually-hidden">compare</span>
              </th>
              <th className={table["left"]}>run</th>
              <th className={table["left"]}>prompt</th>
              <th className={table["left"]}>on</th>
              <th>temperature</th>
              <th>seed</th>
              <th>decode</th>
              <th>first token</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <HistoryRow key={run.id} run={run} ticked={compared.includes(run.id)} />
            ))}
          </tbody>
        </table>
        <div className={styles["actions"]}>
          <SaveButtons />
          <Button small onClick={() => show(false)}>
            Back to the conversation
          </Button>
        </div>
      </Card>
      {left === undefined || right === undefined ? (
        <Note>Click a prompt to run it again with its parameters and seed; tick two runs to compare them.</Note>
      ) : (
        <Compared left={left} right={right} />
      )}
    </div>
  );
}

function HistoryRow({ run, ticked }: { readonly run: RunRecord; readonly ticked: boolean }): ReactNode {
  const restore = useRun((s) => s.restoreRun);
  const show = useRun((s) => s.showHistory);
  const toggle = useRun((s) => s.toggleCompared);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const device = deviceTitle(devices, run.device);
  const title = run.model === null ? device : `${run.model} on ${device}`;
  const isShown = useRun((s) => s.historyAt === run.id);
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isShown) row.current?.scrollIntoView({ block: "nearest" });
  }, [isShown]);
  const rate = run.stats?.rate ?? null;
  const first = run.stats?.firstTokenSeconds ?? null;
  return (
    <tr ref={row} data-ticked={ticked} aria-current={isShown}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${runName(run)}, ${clock(run.at)}`}
          checked={ticked}
          onChange={() => toggle(run.id)}
        />
      </td>
      <td className={table["left"]}>
        {runName(run)}
        <span className={styles["clock"]}>{clock(run.at)}</span>
      </td>
      <td className={cx(table["text"], styles["prompt"])}>
        <button
          type="button"
          title={`Run it again: ${run.prompt}`}
          onClick={() => {
            restore(run.id);
            show(false);
          }}
        >
          {run.prompt}
        </button>
        <span>{run.errorCode ?? (run.text === "" ? run.end : run.text)}</span>
      </td>
      <td className={table["left"]}>
        {title}
        {run.truth === "simulated" && !title.includes("simulated") ? " (simulated)" : ""}
        {run.pair === null ? null : <em title="In a column beside others"> ◫</em>}
      </td>
      <td>{significant(run.parameters.temperature, 2)}</td>
      <td>{run.seed ?? "–"}</td>
      <td>{rate === null ? "–" : figureText(rate)}</td>
      <td>{first === null ? "–" : figureText(first)}</td>
    </tr>
  );
}

function SaveButtons(): ReactNode {
  const runs = useRun((s) => s.runHistory);
  const overview = useRun((s) => current(s.model));
  const info = useRun((s) => current(s.info));
  const text = (): string =>
    runsJson(
      {
        model: overview?.title ?? "",
        headerHash: overview?.file?.headerHash ?? null,
        machine: info === null ? "" : `${info.chip}, ${info.cpu.kernels}, ${info.osTitle}`,
        engine: info?.version ?? "",
      },
      runs,
    );
  return (
    <>
      <Button small onClick={() => saveText("runs.json", text(), "application/json")}>
        Save as JSON
      </Button>
      <CopyButton label="Copy as JSON" text={text} />
    </>
  );
}

function Compared({ left, right }: { readonly left: RunRecord; readonly right: RunRecord }): ReactNode {
  const parts = useMemo(() => diffWords(left.text, right.text), [left.text, right.text]);
  const changes = changedParameters(left, right);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const same = parts.every(({ kind }) => kind === "same");
  return (
    <Card
      title={`${runName(left)} and ${runName(right)}`}
      aside={changes.length === 0 ? "the same prompt, parameters and seed" : changes.join(", ")}
    >
      <div className={styles["pair"]}>
        {([left, right] as const).map((run, i) => (
          <div key={run.id} className={styles["side"]}>
            <h4>
              {run.prompt} · on {deviceTitle(devices, run.device)}
            </h4>
            <p>
              {parts
                .filter(({ kind }) => kind === "same" || kind === (i === 0 ? "left" : "right"))
                .map(({ kind, text }, n) =>
                  kind === "same" ? (
                    <span key={n}>{text}</span>
                  ) : (
                    <mark key={n} data-side={kind}>
                      {text}
                    </mark>
                  ),
                )}
            </p>
          </div>
        ))}
      </div>
      <table className={cx(table["table"], table["bleed"], styles["speeds"])}>
        <thead>
          <tr>
            <th>speed</th>
            <th>{runName(left)}</th>
            <th>{runName(right)}</th>
            <th>second to first</th>
          </tr>
        </thead>
        <tbody>
          {compareSpeeds(left.stats, right.stats).map((row) => (
            <tr key={row.label}>
              <td className={table["text"]}>{row.label}</td>
              <td>{row.left === null ? "–" : figureText(row.left)}</td>
              <td>{row.right === null ? "–" : figureText(row.right)}</td>
              <td>{row.ratio === null ? "–" : `${significant(row.ratio)} ×`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Note>
        {same ? "The answers are the same. " : ""}One run each, so a small difference in speed means nothing: Bench
        repeats and gives an interval.
      </Note>
    </Card>
  );
}
