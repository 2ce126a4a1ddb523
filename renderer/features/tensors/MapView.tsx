/**
 * The picture of the file: every tensor a box of its bytes, within its layer, coloured by type or by error. A click or the
 * arrow keys choose one; what a search leaves out is faint. Screen readers hear the box that is chosen, and a list of the layers.
 */
import type { KeyboardEvent, MouseEvent, ReactNode } from "react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { holdsWords, tensorWords } from "../../../main/contract/tensorQuery.ts";
import type { TensorPage, TensorRow } from "../../../main/contract/views/model.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { errorShare } from "../../ui/format.ts";
import { Segmented } from "../../ui/Segmented.tsx";
import { onThemeChange } from "../../ui/theme.ts";
import type { Box } from "../../ui/treemap.ts";
import { useSize } from "../../ui/useSize.ts";
import { NOTHING_KNOWN } from "../../ui/weightColors.ts";
import type { AgainstSlice, HeldQuestion } from "./againstSlice.ts";
import { drawMap } from "./drawMap.ts";
import type { Errors, FileMap, LeafGroup } from "./fileMap.ts";
import {
  errorColor,
  errorRange,
  leafAt,
  leafColors,
  leafGroups,
  leafText,
  mapWords,
  MOST_LEAVES,
  placeMap,
  typeColors,
} from "./fileMap.ts";
import type { TensorsSlice } from "./slice.ts";
import styles from "./Map.module.css";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

const PAGE = 1000;

interface Whole {
  readonly rows: readonly TensorRow[];
  readonly found: Pick<TensorPage, "matched" | "matchedBytes">;
}

/** The largest tensors of the file; the list says where it cannot be read. */
function useLargest(model: string, held: NonNullable<HeldQuestion> | null): Whole | null {
  const ask = useSession((state) => state.askTensors);
  const [whole, setWhole] = useState<Whole | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const load = async (): Promise<void> => {
      const rows: TensorRow[] = [];
      for (;;) {
        const page = await ask({ model, held, sort: "bytes", descending: true, offset: rows.length, limit: PAGE });
        rows.push(...page.rows);
        if (rows.length < Math.min(page.matched, MOST_LEAVES) && page.rows.length > 0) continue;
        if (isCurrent) setWhole({ rows, found: page });
        return;
      }
    };
    load().catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [ask, model, held]);
  return whole;
}

export interface MapViewProps {
  readonly model: string;
  readonly held: NonNullable<HeldQuestion> | null;
}

export function MapView({ model, held }: MapViewProps): ReactNode {
  const whole = useLargest(model, held);
  const groups = useMemo(() => (whole === null ? [] : leafGroups(whole.rows, whole.found)), [whole]);
  const errors = useTensors((state) => (state.mapColor === "error" ? (state.against?.errors ?? null) : null));
  return (
    <section className={styles["map"]} aria-label="The file by bytes">
      <MapPicture groups={groups} errors={errors} />
      <MapLegend groups={groups} errors={errors} />
    </section>
  );
}

interface PictureProps {
  readonly groups: readonly LeafGroup[];
  readonly errors: Errors | null;
}

function MapPicture({ groups, errors }: PictureProps): ReactNode {
  const id = useId();
  const [box, { width, height }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const query = useSession((state) => state.tensorQuery);
  const chosen = useSession((state) => state.chosenTensor?.name ?? null);
  const chooseTensor = useSession((state) => state.chooseTensor);
  const [theme, setTheme] = useState(0);
  const [hover, setHover] = useState<{ readonly leaf: number; readonly x: number; readonly y: number } | null>(null);
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);
  const map = useMemo(() => placeMap(groups, { x: 0, y: 0, width, height }), [groups, width, height]);
  const colors = useMemo(() => leafColors(map.leaves, errors), [map, errors]);
  useDrawing(canvas, { map, width, height, colors, query, theme });
  const whole = useMemo(() => groups.reduce((sum, group) => sum + group.bytes, 0), [groups]);
  const chosenLeaf = map.leaves.findIndex(({ row }) => row !== null && row.name === chosen);
  const choose = (leaf: number): void => {
    const row = map.leaves[leaf]?.row ?? null;
    if (row !== null) chooseTensor(row);
  };
  const at = (event: MouseEvent<HTMLElement>): number => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    return leafAt(map, event.clientX - left, event.clientY - top);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") chooseTensor(null);
    const next = leafOfKey(map, chosenLeaf, event.key);
    if (next === null) return;
    event.preventDefault();
    setHover(null);
    choose(next);
  };
  const hint = map.leaves[hover?.leaf ?? -1];
  const active = map.leaves[chosenLeaf];
  return (
    <div
      ref={box}
      className={styles["picture"]}
      role="listbox"
      aria-label="Tensors by bytes: arrow keys go through them in the order of the file"
      aria-activedescendant={active === undefined ? undefined : id}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onClick={(event) => choose(at(event))}
      onMouseMove={(event) => {
        const { left, top } = event.currentTarget.getBoundingClientRect();
        setHover({ leaf: at(event), x: event.clientX - left, y: event.clientY - top });
      }}
      onMouseLeave={() => setHover(null)}
    >
      <canvas
        ref={canvas}
        aria-hidden="true"
        width={Math.round(width * pixelRatio())}
        height={Math.round(height * pixelRatio())}
      />
      {active === undefined ? null : <div className={styles["chosen"]} style={boxStyle(active.box)} />}
      {hint === undefined ? null : <div className={styles["hover"]} style={boxStyle(hint.box)} />}
      <div
        id={id}
        role="option"
        aria-selected={active !== undefined}
        aria-setsize={map.leaves.length}
        aria-posinset={active === undefined ? undefined : chosenLeaf + 1}
        className="visually-hidden"
      >
        {active === undefined ? "No tensor is chosen" : leafText(active, whole, errors).join(", ")}
      </div>
      {hint === undefined || hover === null ? null : (
        <div className={styles["hint"]} style={hintPlace(hover, { width, height })} aria-hidden="true">
          {leafText(hint, whole, errors).map((line, i) => (
            <span key={i}>{line}</span>
          ))}
        </div>
      )}
    </div>
  );
}

const pixelRatio = (): number => (typeof devicePixelRatio === "number" ? devicePixelRatio : 1);

const boxStyle = ({ x, y, width, height }: Box) => ({ left: x, top: y, width, height });

/** Beside the pointer, on the side where there is room. */
const hintPlace = ({ x, y }: { readonly x: number; readonly y: number }, { width, height }: Omit<Box, "x" | "y">) => ({
  ...(x > width / 2 ? { right: width - x + 10 } : { left: x + 10 }),
  ...(y > height / 2 ? { bottom: height - y + 10 } : { top: y + 10 }),
});

/** Where a key leads: to the next or the one before in the order of the file, or to an end. */
export function leafOfKey({ leaves }: FileMap, from: number, key: string): number | null {
  const last = leaves.length - 1;
  if (last < 0) return null;
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(last, from + 1);
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(0, from - 1);
    case "Home":
    case "Enter":
      return key === "Enter" ? Math.max(0, from) : 0;
    case "End":
      return last;
    default:
      return null;
  }
}

function useDrawing(
  canvas: React.RefObject<HTMLCanvasElement | null>,
  {
    map,
    width,
    height,
    colors,
    query,
    theme,
  }: {
    readonly map: FileMap;
    readonly width: number;
    readonly height: number;
    readonly colors: readonly string[];
    readonly query: string;
    readonly theme: number;
  },
): void {
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element === null || context === null || context === undefined || width === 0) return;
    void theme;
    const style = getComputedStyle(element);
    const words = tensorWords(query);
    const ratio = pixelRatio();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawMap(
      context,
      map,
      { width, height },
      {
        ...{ colors, canvas: style.getPropertyValue("--raised"), ink: style.getPropertyValue("--ink") },
        font: style.getPropertyValue("--font"),
        found: (i) => {
          const row = map.leaves[i]?.row ?? null;
          return row === null ? words.length === 0 : holdsWords(words, row);
        },
      },
    );
  }, [canvas, map, width, height, colors, query, theme]);
}

const COLORS = [
  { id: "type", text: "Type" },
  { id: "error", text: "Error" },
] as const;

function MapLegend({ groups, errors }: PictureProps): ReactNode {
  const color = useTensors((state) => state.mapColor);
  const setColor = useTensors((state) => state.setMapColor);
  const isCompared = useTensors((state) => state.against !== null);
  const types = useMemo(() => typeColors(groups.flatMap(({ leaves }) => leaves)), [groups]);
  return (
    <div className={styles["legend"]}>
      {isCompared ? <Segmented label="Colour of the boxes" value={color} options={COLORS} onChange={setColor} /> : null}
      {errors === null ? (
        [...types].map(([type, fill]) => (
          <span key={type}>
            <i style={{ background: fill }} />
            {type}
          </span>
        ))
      ) : (
        <ErrorLegend errors={errors} />
      )}
      <ul className="visually-hidden" aria-label="Bytes of each layer">
        {mapWords(groups).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}

function ErrorLegend({ errors }: { readonly errors: Errors }): ReactNode {
  const { low, high } = errorRange(errors);
  if (high === 0) return <span>No error anywhere</span>;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((at) => errorColor(low * (high / low) ** at, low, high)).join(", ");
  return (
    <>
      <span>{errorShare(low)}</span>
      <i className={styles["scale"]} style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{errorShare(high)}, log scale</span>
      <span>
        <i style={{ background: NOTHING_KNOWN }} />
        not compared
      </span>
    </>
  );
}
