/**
 * The tensors of the file: its picture by bytes, and their table beside or below it. Instead of both the values of the chosen
 * one; above them the check of the file and the comparison with another.
 */
import type { ReactNode } from "react";
import { useDeferredValue, useMemo, useState } from "react";
import { current } from "../../session/async.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { SearchField } from "../../ui/fields.tsx";
import { bytes } from "../../ui/format.ts";
import type { Size } from "../../ui/useSize.ts";
import { useSize } from "../../ui/useSize.ts";
import { Actions, ListTools } from "./Actions.tsx";
import { CheckCard } from "./CheckCard.tsx";
import { columnsFor } from "./columns.ts";
import { CompareCard } from "./CompareCard.tsx";
import type { AgainstSlice } from "./againstSlice.ts";
import { MapView } from "./MapView.tsx";
import type { TensorsSlice } from "./slice.ts";
import type { TableSort } from "./TensorTable.tsx";
import { sumText, TensorTable } from "./TensorTable.tsx";
import { useHeldQuestion, useRows } from "./useRows.ts";
import { ValuesView } from "./ValuesView.tsx";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

export function TensorsTab(): ReactNode {
  const model = useSession((state) => current(state.model)?.model ?? null);
  return model === null ? null : <Tensors key={model} model={model} />;
}

function Tensors({ model }: { readonly model: string }): ReactNode {
  const query = useSession((state) => state.tensorQuery);
  const setQuery = useSession((state) => state.setTensorQuery);
  const [sort, setSort] = useState<TableSort>({ by: "file", descending: false });
  const asked = useDeferredValue(query);
  const group = useTensors((state) => state.tensorGrouping);
  const against = useTensors((state) => state.against?.path ?? null);
  const held = useHeldQuestion();
  const { by, descending } = sort;
  const list = useRows({ model, query: asked, sort: by, descending, group, held, against });
  const view = useTensors((state) => state.tensorsView);
  const chosen = useSession((state) => state.chosenTensor);
  const hasValues = view === "values" && chosen !== null;
  const [body, size] = useSize<HTMLDivElement>();
  const wanted = useTensors((state) => state.mapShown);
  const nameLength = useLongest(list.rows);
  const heldBytes = list.groups?.sum.heldBytes ?? null;
  const isHeld = heldBytes !== null;
  const full = columnsFor({ width: Infinity, nameLength, isHeld, isCompared: against !== null }).whole;
  const place = placeOfMap(size, full, wanted);
  const width = place === "beside" ? Math.min(full, size.width * TABLE_SHARE) : size.width;
  const shown = columnsFor({ width, nameLength, isHeld, isCompared: against !== null });
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
        <ListTools hasMap={place !== "none"} isHeld={isHeld} />
        <span title={list.groups?.heldAs ?? undefined}>
          {sumText(list)}
          {heldBytes === null ? null : <span className={styles["heldSum"]}>, {bytes(heldBytes)} on the device</span>}
        </span>
      </div>
      <Actions />
      <CheckCard />
      <CompareCard />
      {list.error === null ? null : <ErrorNote title="The tensors could not be listed" error={list.error} />}
      {hasValues ? <ValuesView tensor={chosen} /> : null}
      <div ref={body} hidden={hasValues} className={styles["body"]} data-map={place}>
        {place === "none" || hasValues ? null : <MapView model={model} held={held} />}
        <div className={styles["list"]} style={place === "beside" ? { width } : undefined}>
          <TensorTable
            list={list}
            shown={shown}
            sort={sort}
            onSort={setSort}
            topic={JSON.stringify([asked, sort, group])}
          />
        </div>
      </div>
    </div>
  );
}

/** Beside the picture the table takes no more. */
const TABLE_SHARE = 0.62;
/** From here on there is room for both. */
const BESIDE_WIDTH = 1180;
const ABOVE_HEIGHT = 440;

function placeOfMap({ width, height }: Size, tableWidth: number, wanted: boolean | null): "none" | "beside" | "above" {
  const isBeside = width >= BESIDE_WIDTH && width - tableWidth >= 200;
  if (!(wanted ?? (isBeside || height >= ABOVE_HEIGHT))) return "none";
  return isBeside ? "beside" : "above";
}

/** Characters of the longest name that was seen: the column does not become narrow again while one scrolls. */
function useLongest(rows: ReadonlyMap<number, { readonly name: string }>): number {
  return useMemo(() => [...rows.values()].reduce((most, { name }) => Math.max(most, name.length), 0), [rows]);
}
