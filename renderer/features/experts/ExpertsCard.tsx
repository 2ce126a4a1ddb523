/** Beside a profile, for a mixture: layers × experts as a heat map of a text. */
import type { PointerEvent, ReactNode } from "react";
import { useMemo, useState } from "react";
import type { ExpertsDone } from "../../../main/contract/views/score.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { heatColor } from "../../../main/contract/heat.ts";
import { cellWords, heatMap, mapWords, SHADES } from "./heatMap.ts";
import type { ExpertsSlice } from "./slice.ts";
import styles from "./Experts.module.css";

const useExperts = sliceHook<ExpertsSlice>();

export function ExpertsCard(): ReactNode {
  const isMixture = useExperts((s) => current(s.model)?.facts.some(({ label }) => label === "experts") === true);
  const state = useExperts((s) => s.experts);
  const text = useExperts((s) => s.expertsText);
  const setText = useExperts((s) => s.setExpertsText);
  const read = useExperts((s) => s.readExperts);
  const stop = useExperts((s) => s.stopExperts);
  if (!isMixture) return null;
  const use = current(state);
  return (
    <Card title="Which experts a text takes">
      <textarea
        className={styles["text"]}
        rows={2}
        aria-label="Text that the experts read"
        placeholder="A text, or the last run"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {state.kind === "loading" ? (
        <Button onClick={stop}>Stop</Button>
      ) : (
        <Button disabled={text === ""} onClick={() => void read()}>
          Count
        </Button>
      )}
      {state.kind === "failed" ? (
        <ErrorNote title="The experts were not counted" error={state.error} onRetry={() => void read()} />
      ) : null}
      {use === null ? null : <Map use={use} />}
    </Card>
  );
}

function Map({ use }: { readonly use: ExpertsDone }): ReactNode {
  const map = useMemo(() => heatMap(use), [use]);
  const [cell, setCell] = useState("");
  const point = ({ clientX, clientY, currentTarget }: PointerEvent<SVGSVGElement>): void => {
    const box = currentTarget.getBoundingClientRect();
    setCell(cellWords(use, map, (clientX - box.left) / box.width, (clientY - box.top) / box.height));
  };
  return (
    <>
      <svg
        className={styles["map"]}
        viewBox={`0 0 ${map.columns} ${map.rows}`}
        style={{ height: Math.min(480, Math.max(48, map.rows * 14)) }}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Layers from top to bottom, experts from left to right. ${mapWords(use, map)}`}
        onPointerMove={point}
        onPointerLeave={() => setCell("")}
      >
        {map.paths.map((path, shade) =>
          path === "" ? null : <path key={shade} d={path} fill={heatColor(shade / (SHADES - 1))} />,
        )}
      </svg>
      <p className={styles["cell"]}>{cell === "" ? "Layers down, experts across." : cell}</p>
      <Note>{mapWords(use, map)} Brighter cells took more.</Note>
    </>
  );
}
