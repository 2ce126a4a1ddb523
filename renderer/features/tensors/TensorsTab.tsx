/**
 * The tensor table: every tensor of the file, searched and sorted by the engine, a window of rows at
 * a time. Instead of it the values of the chosen one; above both the check of the file.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import type { KeyboardEvent, ReactNode } from "react";
import { useCallback, useDeferredValue, useEffect, useRef, useState } from "react";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { SearchField } from "../../ui/fields.tsx";
import { bytes, count, parameters, plural, shape, significant } from "../../ui/format.ts";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty } from "../../ui/states.tsx";
import { CheckCard } from "./CheckCard.tsx";
import type { TensorsSlice } from "./slice.ts";
import { hasValues } from "./slice.ts";
import { ValuesView } from "./ValuesView.tsx";
import fields from "../../ui/fields.module.css";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice>();

const PAGE = 200;
const ROW = 24;
const HEAD = 28;

type Sort = "file" | "name" | "type" | "parameters" | "bytes" | "layer";
const COLUMNS: readonly { readonly id: string; readonly title: string; readonly sort: Sort | null }[] = [
  { id: "name", title: "tensor", sort: "name" },
  { id: "layer", title: "layer", sort: "layer" },
  { id: "shape", title: "shape", sort: null },
  { id: "type", title: "type", sort: "type" },
  { id: "bits", title: "bits", sort: null },
  { id: "parameters", title: "parameters", sort: "parameters" },
  { id: "bytes", title: "size", sort: "bytes" },
];

export function TensorsTab(): ReactNode {
  const model = useSession((state) => current(state.model)?.model ?? null);
  return model === null ? null : <TensorTable key={model} model={model} />;
}

interface Found {
  readonly total: number;
  readonly matched: number;
  readonly matchedBytes: number;
}

function TensorTable({ model }: { readonly model: string }): ReactNode {
  const query = useSession((state) => state.tensorQuery);
  const setQuery = useSession((state) => state.setTensorQuery);
  const [sort, setSort] = useState<{ readonly by: Sort; readonly descending: boolean }>({
    by: "file",
    descending: false,
  });
  const asked = useDeferredValue(query);
  const { found, rows, error, need } = useRows(model, asked, sort.by, sort.descending);
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- only the compiler minds, and we do not use it
  const virtual = useVirtualizer({
    count: found?.matched ?? 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
    // The head stands above the rows and moves them down.
    scrollPaddingEnd: HEAD,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    need(first, last);
  }, [need, first, last]);
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
  }, [asked, sort]);
  const view = useTensors((state) => state.tensorsView);
  const chosenRow = useSession((state) => state.chosenTensor);
  const chosen = chosenRow?.name ?? null;
  const chooseTensor = useSession((state) => state.chooseTensor);
  /** The first row in sight: above it are some that are only kept ready. */
  const topRow = (): number => Math.floor((scroller.current?.scrollTop ?? 0) / ROW);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") chooseTensor(null);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || event.target !== event.currentTarget) return;
    event.preventDefault();
    const at = [...rows].find(([, row]) => row.name === chosen)?.[0] ?? topRow() - (step > 0 ? 1 : 0);
    const next = rows.get(at + step);
    if (next === undefined) return;
    chooseTensor(next);
    virtual.scrollToIndex(at + step);
  };
  const choose = (by: Sort): void =>
    setSort((before) =>
      before.by === by
        ? { by, descending: !before.descending }
        : { by, descending: by === "bytes" || by === "parameters" },
    );
  return (
    <div className={styles["tab"]}>
      <div className={styles["tools"]}>
        <SearchField
          id="tensor-search"
          label="Search the tensors"
          placeholder="Search names and types"
          value={query}
          onChange={setQuery}
          onEscape={() => setQuery("")}
        />
        <span>
          {found === null
            ? ""
            : found.matched === found.total
              ? plural(found.total, "tensor")
              : `${count(found.matched)} of ${plural(found.total, "tensor")}`}
          {found === null ? "" : `, ${bytes(found.matchedBytes)}`}
        </span>
      </div>
      <Actions />
      <CheckCard />
      {error === null ? null : <ErrorNote title="The tensors could not be listed" error={error} />}
      {view === "values" && chosenRow !== null ? <ValuesView tensor={chosenRow} /> : null}
      <div
        hidden={view === "values" && chosenRow !== null}
        ref={scroller}
        className={styles["scroll"]}
        role="table"
        aria-label="Tensors"
        aria-rowcount={(found?.matched ?? 0) + 1}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div role="row" className={styles["head"]} aria-rowindex={1}>
          {COLUMNS.map((column) => (
            <div
              key={column.id}
              role="columnheader"
              aria-sort={column.sort === sort.by ? (sort.descending ? "descending" : "ascending") : "none"}
            >
              {column.sort === null ? (
                column.title
              ) : (
                <button type="button" onClick={() => column.sort !== null && choose(column.sort)}>
                  {column.title}
                  {column.sort === sort.by ? (sort.descending ? " ↓" : " ↑") : ""}
                </button>
              )}
            </div>
          ))}
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {items.map(({ index, start }) => (
            <Row
              key={index}
              row={rows.get(index)}
              index={index}
              top={start}
              chosen={chosen}
              onChoose={(row) => chooseTensor(row.name === chosen ? null : row)}
            />
          ))}
        </div>
        {found?.matched === 0 ? <Empty title="No tensor has these words" /> : null}
      </div>
    </div>
  );
}

const VIEWS = [
  { id: "table", text: "Table" },
  { id: "values", text: "Values" },
] as const;

/** What is shown of the tensors, the file to compare with, and the check. */
function Actions(): ReactNode {
  const view = useTensors((state) => state.tensorsView);
  const setView = useTensors((state) => state.setTensorsView);
  const isChosen = useTensors((state) => state.chosenTensor !== null);
  const path = useTensors((state) => state.comparePath);
  const setPath = useTensors((state) => state.setComparePath);
  const again = useTensors((state) => state.loadStatistics);
  const running = useTensors((state) => state.checkRunning);
  const check = useTensors((state) => state.startCheck);
  const isWhole = useTensors((state) => hasValues(current(state.model)));
  if (!isWhole) return null;
  const options = VIEWS.map((option) => ({
    ...option,
    disabled: option.id === "values" && !isChosen,
    ...(option.id === "values" && !isChosen ? { hint: "Choose a tensor first" } : {}),
  }));
  return (
    <div className={styles["actions"]}>
      <Segmented label="What to show" value={view} options={options} onChange={setView} />
      <input
        className={fields["path"]}
        aria-label="Another file to compare with"
        placeholder="Compare with another file: its path"
        value={path}
        spellCheck={false}
        disabled={running}
        onChange={(event) => setPath(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") void again();
        }}
      />
      <Button disabled={running} onClick={() => void check()}>
        Check the file
      </Button>
    </div>
  );
}

function Row({
  row,
  index,
  top,
  chosen,
  onChoose,
}: {
  readonly row: TensorRow | undefined;
  readonly index: number;
  readonly top: number;
  /** Name of the tensor that the inspector shows. */
  readonly chosen: string | null;
  readonly onChoose: (row: TensorRow) => void;
}): ReactNode {
  const isChosen = row !== undefined && row.name === chosen;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-current={isChosen}
      data-chosen={isChosen}
      className={styles["row"]}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => {
        if (row !== undefined) onChoose(row);
      }}
    >
      {row === undefined ? (
        <div role="cell">…</div>
      ) : (
        <>
          <div role="cell" title={row.name}>
            {row.name}
          </div>
          <div role="cell">{row.layer ?? "–"}</div>
          <div role="cell">{shape(row.shape)}</div>
          <div role="cell">{row.type}</div>
          <div role="cell">{significant(row.bitsPerWeight)}</div>
          <div role="cell">{parameters(row.parameters)}</div>
          <div role="cell">{bytes(row.bytes)}</div>
        </>
      )}
    </div>
  );
}

interface Rows {
  readonly found: Found | null;
  readonly rows: ReadonlyMap<number, TensorRow>;
  readonly error: WireError | null;
  readonly need: (first: number, last: number) => void;
}

/** Pages on demand, forgotten when the question changes. */
function useRows(model: string, query: string, sort: Sort, descending: boolean): Rows {
  const ask = useSession((state) => state.askTensors);
  const [answer, setAnswer] = useState<{
    readonly found: Found | null;
    readonly rows: ReadonlyMap<number, TensorRow>;
    readonly error: WireError | null;
  }>({
    found: null,
    rows: new Map(),
    error: null,
  });
  const asked = useRef({ serial: 0, pages: new Set<number>() });
  const load = useCallback(
    (page: number): void => {
      const { serial, pages } = asked.current;
      if (pages.has(page)) return;
      pages.add(page);
      ask({ model, query, sort, descending, offset: page * PAGE, limit: PAGE }).then(
        ({ rows, total, matched, matchedBytes }) => {
          if (serial !== asked.current.serial) return;
          setAnswer((before) => {
            const next = page === 0 ? new Map<number, TensorRow>() : new Map(before.rows);
            rows.forEach((row, i) => next.set(page * PAGE + i, row));
            return { found: { total, matched, matchedBytes }, rows: next, error: null };
          });
        },
        (error: unknown) => {
          if (serial === asked.current.serial) setAnswer((before) => ({ ...before, error: toWireError(error) }));
        },
      );
    },
    [ask, model, query, sort, descending],
  );
  useEffect(() => {
    asked.current = { serial: asked.current.serial + 1, pages: new Set() };
    load(0);
  }, [load]);
  const need = useCallback(
    (first: number, last: number): void => {
      for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) load(page);
    },
    [load],
  );
  return { ...answer, need };
}
