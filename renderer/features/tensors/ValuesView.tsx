/**
 * A page of the chosen tensor's values as a table that keys move: arrows by a value, Page keys by a
 * page, Home and End to the edges.
 */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect } from "react";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { NumberField } from "../../ui/fields.tsx";
import { count } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { useSize } from "../../ui/useSize.ts";
import { fitting, matrixOf, moved } from "./paging.ts";
import type { ShownValues, TensorsSlice } from "./slice.ts";
import styles from "./Values.module.css";

const useTensors = sliceHook<TensorsSlice>();

export function ValuesView({ tensor }: { readonly tensor: TensorRow }): ReactNode {
  const show = useTensors((s) => s.showValues);
  const corner = useTensors((s) => s.valuesCorner);
  const size = useTensors((s) => s.valuesSize);
  const values = useTensors((s) => s.values);
  const [box, { width, height }] = useSize<HTMLDivElement>();
  useEffect(() => {
    if (width > 0) void show(corner, fitting(width, height));
    // A corner that is moved to is asked for where it is moved.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [show, tensor.name, width, height]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moved(corner, size, event.key, event.ctrlKey || event.metaKey);
    if (next === null || event.altKey) return;
    event.preventDefault();
    void show(next);
  };
  const page = current(values);
  const { matrices, height: rows, width: columns } = matrixOf(tensor.shape);
  return (
    <div className={styles["view"]}>
      <div className={styles["where"]}>
        <strong className={styles["name"]} title={tensor.name}>
          {tensor.name}
        </strong>
        {matrices > 1 ? (
          <NumberField
            label="Expert"
            value={corner.matrix}
            min={0}
            max={matrices - 1}
            whole
            onChange={(matrix) => void show({ ...corner, matrix })}
          />
        ) : null}
        {rows > 1 ? (
          <NumberField
            label="Row"
            value={corner.row}
            min={0}
            max={rows - 1}
            digits={7}
            whole
            onChange={(row) => void show({ ...corner, row })}
          />
        ) : null}
        <NumberField
          label="Column"
          value={corner.column}
          min={0}
          max={columns - 1}
          digits={7}
          whole
          onChange={(column) => void show({ ...corner, column })}
        />
      </div>
      <div
        ref={box}
        className={styles["page"]}
        tabIndex={0}
        role="group"
        aria-label={`Values of ${tensor.name}; the arrow and page keys move`}
        onKeyDown={onKeyDown}
      >
        {values.kind === "failed" ? (
          <ErrorNote title="The values could not be read" error={values.error} onRetry={() => void show(corner)} />
        ) : page === null || page.tensor !== tensor.name ? (
          <Progress sentence="Reading" fraction={null} />
        ) : (
          <Page page={page} />
        )}
      </div>
    </div>
  );
}

function Page({ page }: { readonly page: ShownValues }): ReactNode {
  const { rows, columns, values, corner } = page;
  return (
    <table className={styles["values"]}>
      <thead>
        <tr>
          <th scope="col">row</th>
          {Array.from({ length: columns }, (_, i) => (
            <th key={i} scope="col">
              {count(corner.column + i)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: rows }, (_, row) => (
          <tr key={row}>
            <th scope="row">{count(corner.row + row)}</th>
            {Array.from(values.subarray(row * columns, (row + 1) * columns), (value, i) => (
              <td key={i} data-kind={!Number.isFinite(value) ? "broken" : value === 0 ? "zero" : undefined}>
                {valueText(value)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Five digits, which fit into a column. */
export function valueText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(5)));
  return text.replaceAll("-", "−");
}
