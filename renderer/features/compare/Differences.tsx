/** What differs, in tables: numbers, ops by time, ops that moved, the graph, tensors, keys. Long lists open by a button. */
import type { ReactNode } from "react";
import { useState } from "react";
import type { Comparison, OpDifference, Side } from "../../../main/contract/views/compare.ts";
import type { Device } from "../../../main/contract/views/common.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { approximate, bytes, count, figureText, plural, seconds } from "../../ui/format.ts";
import { DeviceChip } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { useCompare } from "./useCompare.ts";
import styles from "./Compare.module.css";

const FEW = 8;

interface RowsProps<T> {
  readonly label: string;
  readonly head: ReactNode;
  readonly rows: readonly T[];
  /** Rows that were not sent. */
  readonly more?: number;
  readonly row: (item: T, index: number) => ReactNode;
}

function Rows<T>({ label, head, rows, more = 0, row }: RowsProps<T>): ReactNode {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, FEW);
  return (
    <>
      <div className={styles["scroll"]} role="region" aria-label={label} tabIndex={0}>
        <table className={cx(table["table"], styles["rows"])}>
          <thead>
            <tr>{head}</tr>
          </thead>
          <tbody>{shown.map(row)}</tbody>
        </table>
      </div>
      {rows.length <= FEW ? null : (
        <div className={styles["more"]}>
          <Button small onClick={() => setAll(!all)}>
            {all ? "Fewer" : `All ${count(rows.length)}`}
          </Button>
        </div>
      )}
      {all && more > 0 ? <Note>And {count(more)} more.</Note> : null}
    </>
  );
}

const left = table["left"];
const Better = ({ row, side }: { readonly row: { readonly better: Side | null }; readonly side: Side }): ReactNode =>
  row.better === side ? (
    <span className={styles["better"]} title="the better side">
      ◂<span className="visually-hidden"> better</span>
    </span>
  ) : null;

export function NumbersCard({
  numbers,
  predictedFor,
}: Pick<Comparison, "numbers"> & { readonly predictedFor: string }): ReactNode {
  return (
    <Card title="Numbers" aside={`predicted for ${predictedFor}, and counted`}>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>
              <span className="visually-hidden">quantity</span>
            </th>
            <th>A</th>
            <th>B</th>
          </tr>
        </thead>
        <tbody>
          {numbers.map((row) => (
            <tr key={row.label}>
              <td className={table["text"]}>{row.label}</td>
              <td>
                {row.a === null ? "–" : figureText(row.a)} <Better row={row} side="a" />
              </td>
              <td>
                {row.b === null ? "–" : figureText(row.b)} <Better row={row} side="b" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** The op; where it can be shown, as the way into the graph. */
function Op({ row }: { readonly row: Pick<OpDifference, "op" | "a" | "b"> }): ReactNode {
  const show = useCompare((s) => s.showCompared);
  const sides = useCompare((s) => s.sides);
  const side = (["b", "a"] as const).find((each) => row[each] !== null && sides?.[each].model.kind === "open");
  const node = side === undefined ? null : row[side];
  if (side === undefined || node === null) return <code>{row.op}</code>;
  return (
    <button type="button" className={styles["op"]} title="Show it in the graph" onClick={() => show(side, node)}>
      {row.op}
    </button>
  );
}

function Place({ row }: { readonly row: Pick<OpDifference, "path" | "name" | "count" | "blocks"> }): ReactNode {
  const { path, name, count: many, blocks } = row;
  return (
    <>
      {[path, name].filter((part) => part !== "").join(" · ")}
      {many === 1 ? null : (
        <em>
          {" "}
          ×{many}
          {blocks === "" ? "" : `, blocks ${blocks}`}
        </em>
      )}
    </>
  );
}

const Where = ({ device }: { readonly device: Device }): ReactNode =>
  device === "none" ? "–" : <DeviceChip device={device} />;

export function MovedCard({ routing }: { readonly routing: NonNullable<Comparison["routing"]> }): ReactNode {
  const { rows, moved, more } = routing;
  return (
    <Card title="Runs elsewhere" aside={plural(moved, "op")}>
      {rows.length === 0 ? (
        <Note>Every op that both have runs on the same device.</Note>
      ) : (
        <Rows
          label="Ops that run elsewhere"
          rows={rows}
          more={more}
          head={
            <>
              <th>op</th>
              <th className={left}>where in the model</th>
              <th className={left}>A</th>
              <th className={left}>B</th>
              <th className={left}>why in B</th>
            </>
          }
          row={(row, i) => (
            <tr key={i}>
              <td>
                <Op row={row} />
              </td>
              <td className={table["text"]}>
                <Place row={row} />
              </td>
              <td className={left}>
                <Where device={row.from} />
              </td>
              <td className={left}>
                <Where device={row.to} />
              </td>
              <td className={table["text"]}>{row.reasonB}</td>
            </tr>
          )}
        />
      )}
    </Card>
  );
}

const spent = (device: Device, value: number | null): string =>
  value === null ? "–" : `${device === "none" ? "" : `${deviceLook(device).short} `}${approximate(seconds(value))}`;

export function CostsCard({ costs }: Pick<Comparison, "costs">): ReactNode {
  return (
    <Card title="Predicted time by op" aside="the largest difference first">
      {costs.length === 0 ? (
        <Note>No op takes another time.</Note>
      ) : (
        <Rows
          label="Predicted time by op"
          rows={costs}
          head={
            <>
              <th>op</th>
              <th className={left}>where in the model</th>
              <th>A</th>
              <th>B</th>
              <th>difference</th>
            </>
          }
          row={(row, i) => {
            const delta = (row.secondsB ?? 0) - (row.secondsA ?? 0);
            return (
              <tr key={i}>
                <td>
                  <Op row={row} />
                </td>
                <td className={table["text"]}>
                  <Place row={row} />
                </td>
                <td>{spent(row.deviceA, row.secondsA)}</td>
                <td>{spent(row.deviceB, row.secondsB)}</td>
                <td>
                  {delta < 0 ? "−" : "+"}
                  {seconds(Math.abs(delta))}
                </td>
              </tr>
            );
          }}
        />
      )}
    </Card>
  );
}

const SIGNS = { added: "+", removed: "−", changed: "~" } as const;

const Sign = ({ kind }: { readonly kind: keyof typeof SIGNS }): ReactNode => (
  <strong className={styles[kind]} title={kind}>
    {SIGNS[kind]}
    <span className="visually-hidden"> {kind}</span>
  </strong>
);

export function GraphCard({ graph }: { readonly graph: NonNullable<Comparison["graph"]> }): ReactNode {
  const { same, added, removed, changed, rows, more } = graph;
  return (
    <Card title="Graph" aside={`${count(same)} ops are the same`}>
      <Note>
        {added} added, {removed} removed, {changed} changed: ops are paired by their place in the model, then by
        structure.
      </Note>
      {rows.length === 0 ? null : (
        <Rows
          label="Ops that differ"
          rows={rows}
          more={more}
          head={
            <>
              <th>
                <span className="visually-hidden">kind</span>
              </th>
              <th className={left}>op</th>
              <th className={left}>where in the model</th>
              <th className={left}>what</th>
            </>
          }
          row={(row, i) => (
            <tr key={i}>
              <td>
                <Sign kind={row.kind} />
              </td>
              <td className={left}>
                <Op row={row} />
              </td>
              <td className={table["text"]}>
                <Place row={row} />
              </td>
              <td className={cx(left, styles["what"])}>{row.what}</td>
            </tr>
          )}
        />
      )}
    </Card>
  );
}

const formText = (form: Comparison["tensors"]["rows"][number]["a"]): string =>
  form === null ? "–" : `${form.type} ${form.shape.join("×")}, ${bytes(form.bytes)}`;

export function TensorsCard({ tensors }: Pick<Comparison, "tensors">): ReactNode {
  const { same, differing, rows, more, types } = tensors;
  return (
    <Card title="Tensors" aside={`${count(same)} are the same, ${count(differing)} differ`}>
      {types.length === 0 ? null : (
        <Note>
          {types
            .map(
              ({ from, to, tensors: many, bytesA, bytesB }) =>
                `${many} × ${from} → ${to} (${bytes(bytesA)} → ${bytes(bytesB)})`,
            )
            .join(", ")}
        </Note>
      )}
      {rows.length === 0 ? (
        <Note>Names, types, shapes and sampled numbers agree.</Note>
      ) : (
        <Rows
          label="Tensors that differ"
          rows={rows}
          more={more}
          head={
            <>
              <th>
                <span className="visually-hidden">kind</span>
              </th>
              <th className={left}>tensor</th>
              <th className={left}>A</th>
              <th className={left}>B</th>
            </>
          }
          row={({ name, a, b, numbers }) => (
            <tr key={name}>
              <td>
                <Sign kind={a === null ? "added" : b === null ? "removed" : "changed"} />
              </td>
              <td className={left}>{name}</td>
              <td className={left}>{formText(a)}</td>
              <td className={left}>{numbers === "other" ? "the same form, other numbers" : formText(b)}</td>
            </tr>
          )}
        />
      )}
    </Card>
  );
}

export function KeysCard({ keys, facts }: Pick<Comparison, "keys" | "facts">): ReactNode {
  const rows = [...facts.map(({ label, a, b }) => ({ key: label, a, b })), ...keys.rows];
  return (
    <Card title="Hyper-parameters and keys" aside={`${count(keys.same)} keys are the same`}>
      {rows.length === 0 ? (
        <Note>All of them agree.</Note>
      ) : (
        <Rows
          label="Keys that differ"
          rows={rows}
          more={keys.more}
          head={
            <>
              <th>key</th>
              <th className={left}>A</th>
              <th className={left}>B</th>
            </>
          }
          row={({ key, a, b }, i) => (
            <tr key={i}>
              <td>{key}</td>
              <td className={cx(left, styles["what"])}>{a ?? "–"}</td>
              <td className={cx(left, styles["what"])}>{b ?? "–"}</td>
            </tr>
          )}
        />
      )}
    </Card>
  );
}
