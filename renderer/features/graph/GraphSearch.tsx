/** The search in the graph: its field, how much was found, and the list of it while the field has the focus. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { parseQuery, searchFault } from "../../graph/search.ts";
import { current } from "../../session/async.ts";
import { SearchField } from "../../ui/fields.tsx";
import { count } from "../../ui/format.ts";
import { routeColumns, shownGraph } from "../../drawing/pictureState.ts";
import { HIT_LIST, hitId, HitList } from "./HitList.tsx";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function GraphSearch(): ReactNode {
  const query = useGraph((s) => s.graphQuery);
  const hits = useGraph((s) => s.graphHits);
  const at = useGraph((s) => s.graphHitAt);
  const model = useGraph((s) => current(shownGraph(s)));
  const device = useGraph((s) => routeColumns(s).device);
  const fault = useGraph((s) => searchFault(parseQuery(s.graphQuery), routeColumns(s)));
  const setQuery = useGraph((s) => s.setGraphQuery);
  const nextHit = useGraph((s) => s.nextHit);
  const goToHit = useGraph((s) => s.goToHit);
  const [inside, setInside] = useState(false);
  /** Put away, so that it does not lie over the op that was gone to. */
  const [away, setAway] = useState(false);
  /** The row that the arrow keys are on: Enter goes there. */
  const [cursor, setCursor] = useState(-1);
  useEffect(() => setCursor(-1), [hits]);
  const hasList = inside && hits.length > 0 && model !== null;
  const shown = cursor >= 0 ? cursor : at;
  const choose = (index: number): void => {
    goToHit(index);
    setCursor(-1);
    setAway(true);
  };
  const onEnter = (backwards: boolean): void => {
    if (cursor >= 0) choose(cursor);
    else nextHit(backwards ? -1 : 1);
    setAway(true);
  };
  const onQuery = (text: string): void => {
    setQuery(text);
    setAway(false);
  };
  const onArrow = (step: 1 | -1): void => {
    setAway(false);
    if (!away) setCursor(shown < 0 && step < 0 ? hits.length - 1 : (shown + step + hits.length) % hits.length);
  };
  return (
    <div
      className={styles["search"]}
      onFocus={() => setInside(true)}
      onBlur={(event) => {
        if (event.currentTarget.contains(event.relatedTarget)) return;
        setInside(false);
        setAway(false);
      }}
    >
      <SearchField
        id="graph-search"
        label="Search the graph"
        placeholder="Search  op: kind: dev: dtype: layer:"
        value={query}
        onChange={onQuery}
        onEnter={onEnter}
        onEscape={() => setQuery("")}
        list={
          hasList ? { id: HIT_LIST, isOpen: !away, active: shown < 0 ? undefined : hitId(shown), onArrow } : undefined
        }
      />
      <output aria-live="polite" className={fault === null ? undefined : styles["fault"]}>
        {fault ??
          (query.trim() === ""
            ? ""
            : hits.length === 0
              ? "nothing"
              : at < 0
                ? count(hits.length)
                : `${at + 1} of ${count(hits.length)}`)}
      </output>
      {hasList && !away ? (
        <HitList {...{ model, hits, query, device, at: shown }} onQuery={onQuery} onChoose={choose} />
      ) : null}
    </div>
  );
}
