/** The bar over the canvas: what colours the graph, which stage is shown, and the search. */
import type { ReactNode } from "react";
import { Segmented } from "../../ui/Segmented.tsx";
import { useSize } from "../../ui/useSize.ts";
import type { GraphMode } from "../../drawing/graphModes.ts";
import { FileMenu } from "./FileMenu.tsx";
import { GraphSearch } from "./GraphSearch.tsx";
import { mlxColumn, plannedColumn, shownMode } from "../../drawing/pictureState.ts";
import { StageField } from "./StageField.tsx";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

interface ModeOption {
  readonly id: GraphMode;
  readonly text: string;
  readonly hint: string;
}
const MODES: readonly ModeOption[] = [
  { id: "device", text: "Device", hint: "Colour by device (D)" },
  { id: "segment", text: "Segment", hint: "Colour by segment (S)" },
  { id: "time", text: "Time", hint: "Colour by estimated time, logarithmic (T)" },
  { id: "bytes", text: "Bytes", hint: "Colour by bytes, logarithmic (B)" },
  { id: "flops", text: "FLOPs", hint: "Colour by arithmetic, logarithmic (O)" },
  { id: "type", text: "Weights", hint: "Colour by the type of weights (Y)" },
];
/** Only where there is something to show. */
const MEASURED: ModeOption = { id: "measured", text: "Measured", hint: "Colour by the time of the last profile (M)" };
const ERROR: ModeOption = { id: "error", text: "Error", hint: "Colour by the error of weights in the last export (E)" };

const DATA: ModeOption = { id: "data", text: "Data", hint: "Colour by the node data that was opened" };

const PLANNED: ModeOption = {
  id: "planned",
  text: "Planned",
  hint: "Colour by the device of Core ML’s own plan (Shift+P)",
};
const MLX: ModeOption = {
  id: "mapped",
  text: "MLX",
  hint: "Colour by MLX support: native, decomposed, unsupported (L)",
};

/**
 * The width that a button for each mode needs beside stage, files and search. Below it, one select holds
 * the modes.
 */
const ROOM = { mode: 66, others: 390 } as const;

export function GraphBar(): ReactNode {
  const mode = useGraph(shownMode);
  const hasPlan = useGraph((s) => plannedColumn(s) !== null);
  const hasMlx = useGraph((s) => mlxColumn(s) !== null);
  const setMode = useGraph((s) => s.setGraphMode);
  const [tools, { width }] = useSize<HTMLDivElement>();
  const profiled = useGraph((s) => s.profiled !== null);
  const exported = useGraph((s) => s.weightErrors !== null);
  const hasData = useGraph((s) => s.nodeData !== null);
  const modes = [
    ...MODES,
    ...(hasPlan ? [PLANNED] : []),
    ...(hasMlx ? [MLX] : []),
    ...(profiled ? [MEASURED] : []),
    ...(exported ? [ERROR] : []),
    ...(hasData ? [DATA] : []),
  ];
  return (
    <div ref={tools} className={styles["tools"]}>
      {width >= ROOM.others + ROOM.mode * modes.length ? (
        <Segmented label="Colour by" value={mode} options={modes} onChange={setMode} />
      ) : (
        <label className={styles["stage"]}>
          <span className="visually-hidden">Colour by</span>
          <select value={mode} onChange={(event) => setMode(event.target.value as GraphMode)}>
            {modes.map(({ id, text }) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        </label>
      )}
      <StageField />
      <FileMenu />
      <GraphSearch />
    </div>
  );
}
