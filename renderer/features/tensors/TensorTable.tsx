/** The table of tensors: searched, sorted and grouped by the engine, a window of rows at a time; groups fold. */
import { useVirtualizer } from "@tanstack/react-virtual";
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useMemo, useRef } from "react";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import type { TensorGroup, TensorSort } from "../../../main/contract/views/tensors.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { bytes, count, errorShare, parameters, plural, shape, significant } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column, ShownColumns } from "./columns.ts";
import type { AgainstSlice } from "./againstSlice.ts";
import { listLayout } from "./listLayout.ts";
import type { TensorsSlice } from "./slice.ts";
import type { Rows } from "./useRows.ts";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

const ROW = 24;
const HEAD = 28;

export interface TableSort {
  readonly by: TensorSort;
  readonly descending: boolean;
}

export interface TensorTableProps {
  readonly list: Rows;
  readonly shown: ShownColumns;
  readonly sort: TableSort;
  readonly onSort: (sort: TableSort) => void;
  /** Changes with what the list is about: then it starts at its top. */
  readonly topic: string;
}

/** Sorted by these, the largest come first. */
const LARGEST_FIRST: ReadonlySet<TensorSort> = new Set(["bytes", "parameters", "held", "error"]);

export function TensorTable({ list, shown, sort, onSort, topic }: TensorTableProps): ReactNode {
  const { found, groups, rows, need } = list;
  const folded = useTensors((state) => state.foldedGroups);
  const fold = useTensors((state) => state.foldGroups);
  const chosen = useSession((state) => state.chosenTensor?.name ?? null);
  const chooseTensor = useSession((state) => state.chooseTensor);
  const heads = useMemo(() => groups?.groups ?? [], [groups]);
  const layout = useMemo(() => listLayout(heads, folded, found?.matched ?? 0), [heads, folded, found]);
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- only the compiler minds, and we do not use it
  const virtual = useVirtualizer({
    count: layout.rows,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
    // The head stands above the rows and moves them down.
    scrollPaddingEnd: HEAD,
  });
  const items = virtual.getVirtualItems();
  const seen = items.flatMap(({ index }) => {
    const row = layout.at(index);
    return row.kind === "tensor" ? row.index : [];
  });
  const [first, last] = [seen[0] ?? 0, seen.at(-1) ?? 0];
  useEffect(() => {
    need(first, last);
  }, [need, first, last]);
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
  }, [topic]);
  /** The first row in sight: above it are some that are only kept ready. */
  const topRow = (): number => Math.floor((scroller.current?.scrollTop ?? 0) / ROW);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") chooseTensor(null);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || event.target !== event.currentTarget) return;
    event.preventDefault();
    const index = [...rows].find(([, row]) => row.name === chosen)?.[0];
    const at = index === undefined ? null : layout.rowOf(index);
    for (
      let row = at === null ? topRow() + (step > 0 ? 0 : -1) : at + step;
      row >= 0 && row < layout.rows;
      row += step
    ) {
      const next = layout.at(row);
      if (next.kind === "head") continue;
      const tensor = rows.get(next.index);
      if (tensor === undefined) return;
      chooseTensor(tensor);
      virtual.scrollToIndex(row);
      return;
    }
  };
  const choose = (by: TensorSort): void =>
    onSort(sort.by === by ? { by, descending: !sort.descending } : { by, descending: LARGEST_FIRST.has(by) });
  const grid = { gridTemplateColumns: shown.template };
  return (
    <div
      ref={scroller}
      className={styles["scroll"]}
      role="table"
      aria-label="Tensors"
      aria-rowcount={layout.rows + 1}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div role="row" className={styles["head"]} style={grid} aria-rowindex={1}>
        {shown.columns.map((column) => (
          <HeadCell key={column.id} column={column} sort={sort} onChoose={choose} />
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {items.map(({ index, start }) => {
          const at = layout.at(index);
          const place = { index, style: { ...grid, transform: `translateY(${start}px)` }, columns: shown.columns };
          if (at.kind === "tensor")
            return (
              <Row
                key={index}
                {...place}
                row={rows.get(at.index)}
                chosen={chosen}
                onChoose={(row) => chooseTensor(row.name === chosen ? null : row)}
              />
            );
          const group = heads[at.group];
          return group === undefined ? null : (
            <GroupRow
              key={index}
              {...place}
              group={group}
              isFolded={folded.has(group.key)}
              onFold={(all, isFolded) => fold(all ? heads.map(({ key }) => key) : [group.key], isFolded)}
            />
          );
        })}
      </div>
      {found?.matched === 0 ? <Empty title="No tensor has these words" /> : null}
    </div>
  );
}

function HeadCell({
  column: { id, title, sort },
  sort: { by, descending },
  onChoose,
}: {
  readonly column: Column;
  readonly sort: TableSort;
  readonly onChoose: (by: TensorSort) => void;
}): ReactNode {
  const isSorted = sort !== null && sort === by;
  return (
    <div
      role="columnheader"
      className={styles[id]}
      aria-sort={isSorted ? (descending ? "descending" : "ascending") : "none"}
    >
      {sort === null ? (
        title
      ) : (
        <button type="button" onClick={() => onChoose(sort)}>
          {title}
          {isSorted ? (descending ? " ↓" : " ↑") : ""}
        </button>
      )}
    </div>
  );
}

interface Place {
  readonly index: number;
  readonly style: { readonly gridTemplateColumns: string; readonly transform: string };
  readonly columns: readonly Column[];
}

function Row({
  row,
  index,
  style,
  columns,
  chosen,
  onChoose,
}: Place & {
  readonly row: TensorRow | undefined;
  /** Name of the tensor that the inspector shows. */
  readonly chosen: string | null;
  readonly onChoose: (row: TensorRow) => void;
}): ReactNode {
  const error = useTensors((state) => (row === undefined ? undefined : state.against?.errors.get(row.name)));
  const isChosen = row !== undefined && row.name === chosen;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-current={isChosen}
      data-chosen={isChosen}
      className={styles["row"]}
      style={style}
      onClick={() => {
        if (row !== undefined) onChoose(row);
      }}
    >
      {row === undefined ? (
        <div role="cell">…</div>
      ) : (
        columns.map(({ id }) => {
          const text = cellText(id, row, error?.relative);
          return (
            <div
              key={id}
              role="cell"
              className={styles[id]}
              title={id === "name" || id === "form" || id === "shape" ? text : undefined}
            >
              {text}
            </div>
          );
        })
      )}
    </div>
  );
}

/** `error`: null where it is beyond all numbers; undefined where the tensor was not compared. */
function cellText(id: Column["id"], row: TensorRow, error: number | null | undefined): string {
  switch (id) {
    case "name":
      return row.name;
    case "layer":
      return row.layer === null ? "–" : String(row.layer);
    case "shape":
      return shape(row.shape);
    case "type":
      return row.type;
    case "bits":
      return significant(row.bitsPerWeight);
    case "parameters":
      return parameters(row.parameters);
    case "bytes":
      return bytes(row.bytes);
    case "form":
      return row.held?.form ?? "–";
    case "held":
      return row.held === null ? "–" : bytes(row.held.bytes);
    case "error":
      return error === undefined ? "–" : error === null ? "∞" : errorShare(error);
  }
}

function GroupRow({
  group,
  index,
  style,
  columns,
  isFolded,
  onFold,
}: Place & {
  readonly group: TensorGroup;
  readonly isFolded: boolean;
  readonly onFold: (all: boolean, fold: boolean) => void;
}): ReactNode {
  return (
    <div role="row" aria-rowindex={index + 2} className={styles["group"]} style={style}>
      {columns.map(({ id }) => (
        <div key={id} role="cell" className={styles[id]}>
          {id === "name" ? (
            <button
              type="button"
              aria-expanded={!isFolded}
              title={`${isFolded ? "Show" : "Fold"} these; with Alt all groups`}
              onClick={(event) => onFold(event.altKey, !isFolded)}
            >
              <i aria-hidden="true">{isFolded ? "▸" : "▾"}</i>
              <b>{group.title}</b> <span>{plural(group.tensors, "tensor")}</span>
            </button>
          ) : (
            groupText(id, group)
          )}
        </div>
      ))}
    </div>
  );
}

function groupText(id: Column["id"], group: TensorGroup): string {
  switch (id) {
    case "bits":
      return significant(group.bitsPerWeight);
    case "parameters":
      return parameters(group.parameters);
    case "bytes":
      return bytes(group.bytes);
    case "held":
      return group.heldBytes === null ? "" : bytes(group.heldBytes);
    case "error":
      return group.error === null ? "" : errorShare(group.error);
    case "name":
    case "layer":
    case "shape":
    case "type":
    case "form":
      return "";
  }
}

/** "46 tensors, 2.8 MB"; of how many where they were searched. */
export function sumText({ found }: Pick<Rows, "found">): string {
  if (found === null) return "";
  const { total, matched, matchedBytes } = found;
  const tensors = matched === total ? plural(total, "tensor") : `${count(matched)} of ${plural(total, "tensor")}`;
  return `${tensors}, ${bytes(matchedBytes)}`;
}
