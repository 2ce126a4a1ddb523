/** What came out of a graph on each device: times, statistics, the error, and a page of values. */
import type { ReactNode } from "react";
import { useState } from "react";
import { distanceText } from "../../../main/contract/distance.ts";
import type { TextRun } from "../../../main/contract/views/text.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, seconds, significant } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import { useText } from "./useText.ts";
import styles from "./Text.module.css";

type Output = TextRun["outputs"][number];

/** Values of a page. */
const PAGE = 32;

export function RunResults(): ReactNode {
  const results = useText((s) => s.graphRuns);
  const devices = useText((s) => current(s.info)?.devices ?? null);
  const titleOf = (id: string): string => devices?.find((device) => device.id === id)?.title ?? id;
  const done = results.flatMap(({ result }) => (result.ok ? [result.run] : []));
  const [first] = done;
  return (
    <>
      {results.map(({ device, result }) =>
        result.ok ? null : <ErrorNote key={device} title={`${titleOf(device)} did not run it`} error={result.error} />,
      )}
      {first === undefined ? null : (
        <>
          <Times runs={done} titleOf={titleOf} />
          {first.outputs.map(({ name }) => (
            <OutputCard key={name} name={name} runs={done} titleOf={titleOf} />
          ))}
        </>
      )}
    </>
  );
}

interface ResultsProps {
  readonly runs: readonly TextRun[];
  readonly titleOf: (device: string) => string;
}

function Times({ runs, titleOf }: ResultsProps): ReactNode {
  return (
    <Card title="Devices">
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>device</th>
            <th>compiled in</th>
            <th>run in</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.device}>
              <td className={table["text"]}>{titleOf(run.device)}</td>
              <td>{seconds(run.compileSeconds)}</td>
              <td>{seconds(run.seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {runs.map(({ device, sentence }) => (
        <Note key={device}>{sentence}</Note>
      ))}
    </Card>
  );
}

const figure = (value: number | null): string => (value === null ? "–" : significant(value));

/** Values are those of the first device; the others stand beside it. */
export function OutputCard({ name, runs, titleOf }: ResultsProps & { readonly name: string }): ReactNode {
  const rows = runs.flatMap((run): readonly { readonly device: string; readonly output: Output }[] => {
    const output = run.outputs.find((each) => each.name === name);
    return output === undefined ? [] : [{ device: run.device, output }];
  });
  const [first] = rows;
  if (first === undefined) return null;
  const { dtype, shape } = first.output;
  return (
    <Card title={name} aside={`${dtype}[${shape.join(",")}]`}>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>device</th>
            <th>least</th>
            <th>mean</th>
            <th>most</th>
            <th>NaN, ∞</th>
            <th>error</th>
            {rows.length > 1 ? <th>from {titleOf(first.device)}</th> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ device, output }) => (
            <tr key={device}>
              <td className={table["text"]}>{titleOf(device)}</td>
              <td>{figure(output.least)}</td>
              <td>{figure(output.mean)}</td>
              <td>{figure(output.most)}</td>
              <td>{count(output.odd)}</td>
              <td>{distanceText(output.error)}</td>
              {rows.length > 1 ? <td>{device === first.device ? "–" : apart(first.output, output)}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
      <Values rows={rows} titleOf={titleOf} />
    </Card>
  );
}

/** Largest difference of the values that are here. */
export function apart(a: Pick<Output, "values">, b: Pick<Output, "values">): string {
  let most = 0;
  for (const [i, value] of a.values.entries()) {
    const other = b.values[i] ?? NaN;
    if (!Object.is(value, other)) most = Math.max(most, Math.abs(value - other) || 0);
  }
  return most === 0 ? "the same" : most.toExponential(1);
}

/** "[1, 0, 3]" of a place in row-major order. */
export function placeText(at: number, shape: readonly number[]): string {
  const places: number[] = [];
  let rest = at;
  for (const size of shape.toReversed()) {
    places.unshift(size === 0 ? 0 : rest % size);
    rest = size === 0 ? 0 : Math.floor(rest / size);
  }
  return `[${places.join(", ")}]`;
}

function Values({
  rows,
  titleOf,
}: {
  readonly rows: readonly { readonly device: string; readonly output: Output }[];
  readonly titleOf: (device: string) => string;
}): ReactNode {
  const [page, setPage] = useState(0);
  const [first] = rows;
  if (first === undefined) return null;
  const { values, shape, count: all, name, dtype } = first.output;
  const last = Math.max(0, Math.ceil(values.length / PAGE) - 1);
  const from = Math.min(page, last) * PAGE;
  // A complex number is a pair.
  const places = dtype === "c64" ? [...shape, 2] : shape;
  return (
    <details className={styles["values"]}>
      <summary>Values</summary>
      <div className={styles["page"]}>
        <Button small disabled={page === 0} onClick={() => setPage(page - 1)}>
          Before
        </Button>
        <span role="status">
          {count(from)} to {count(Math.min(values.length, from + PAGE) - 1)} of {count(all)}
          {values.length < all ? `; the first ${count(values.length)} are here` : ""}
        </span>
        <Button small disabled={page >= last} onClick={() => setPage(page + 1)}>
          Next
        </Button>
      </div>
      <div className={styles["scroll"]} tabIndex={0} role="region" aria-label={`Values of ${name}`}>
        <table className={table["table"]}>
          <thead>
            <tr>
              <th>place</th>
              {rows.map(({ device }) => (
                <th key={device}>{titleOf(device)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from(values.subarray(from, from + PAGE), (_, i) => (
              <tr key={i}>
                <td>{placeText(from + i, places)}</td>
                {rows.map(({ device, output }) => (
                  <td key={device}>{significant(output.values[from + i] ?? NaN, 6)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
