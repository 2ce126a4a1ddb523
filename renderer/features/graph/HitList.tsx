/** What the search found, below its field: facets that narrow it down, and the hits, of which the keyboard chooses one. */
import type { ReactNode } from "react";
import { useEffect, useMemo, useRef } from "react";
import { deviceOf } from "../../../main/contract/views/common.ts";
import { facetsOf, hasFacet, withFacet } from "../../graph/facets.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { groupName, nodeName, nodeWeight, opName, pathOf } from "../../graph/graphModel.ts";
import { OP_KINDS } from "../../graph/opKinds.ts";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { count } from "../../ui/format.ts";
import { KindGlyph } from "./KindGlyph.tsx";
import styles from "./HitList.module.css";

export const HIT_LIST = "graph-hits";
export const hitId = (at: number): string => `graph-hit-${at}`;

/** Rows that stand as elements, around the chosen one. */
const ROWS = 60;

export interface HitListProps {
  readonly model: GraphModel;
  readonly hits: readonly number[];
  readonly query: string;
  readonly device: ArrayLike<number> | null;
  /** Index of the row that the keyboard is on, or -1. */
  readonly at: number;
  readonly onQuery: (text: string) => void;
  readonly onChoose: (at: number) => void;
}

export function HitList({ model, hits, query, device, at, onQuery, onChoose }: HitListProps): ReactNode {
  const facets = useMemo(() => facetsOf(model, hits, device), [model, hits, device]);
  const chosen = useMemo(() => facetTokens(query), [query]);
  const first = Math.max(0, Math.min(hits.length - ROWS, at - ROWS / 2));
  const shown = hits.slice(first, first + ROWS);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (at >= 0) list.current?.querySelector(`#${hitId(at)}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <div className={styles["hits"]}>
      {facets.length + chosen.length === 0 ? null : (
        <div
          className={styles["facets"]}
          role="group"
          aria-label="Narrow the search"
          // The field keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
        >
          {chosen.map((token) => (
            <button key={token} type="button" aria-pressed="true" onClick={() => onQuery(withFacet(query, token))}>
              {token} <span aria-hidden="true">×</span>
            </button>
          ))}
          {facets
            .filter(({ token }) => !hasFacet(query, token))
            .map(({ token, text, hits: n }) => (
              <button
                key={token}
                type="button"
                aria-pressed="false"
                title={token}
                onClick={() => onQuery(withFacet(query, token))}
              >
                {text} <em>{count(n)}</em>
              </button>
            ))}
        </div>
      )}
      <ul ref={list} id={HIT_LIST} role="listbox" aria-label="What was found" className={styles["list"]}>
        {shown.map((node, i) => (
          <li
            key={node}
            id={hitId(first + i)}
            role="option"
            aria-selected={first + i === at}
            className={cx(styles["row"], first + i === at && styles["at"])}
            // The field keeps the focus.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onChoose(first + i)}
          >
            <Hit model={model} node={node} device={device} />
          </li>
        ))}
      </ul>
      {hits.length > shown.length ? (
        <p className={styles["more"]}>
          {count(first + 1)} to {count(first + shown.length)} of {count(hits.length)}
        </p>
      ) : null}
    </div>
  );
}

/** Facets among the words of a search. */
const facetTokens = (query: string): readonly string[] =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((token) => /^(op|kind|dev|dtype|layer):.+$/.test(token));

function Hit({ model, node, device }: Pick<HitListProps, "model" | "device"> & { readonly node: number }): ReactNode {
  const { view } = model;
  const op = opName(view, node);
  const name = nodeName(view, node);
  const where = pathOf(view, node)
    .slice(1)
    .map((group) => groupName(view, group))
    .filter((each) => each !== "blocks")
    .join(" · ");
  const look = deviceLook(deviceOf(device?.[node] ?? 0));
  return (
    <>
      <KindGlyph kind={OP_KINDS[model.kinds[node] ?? 0] ?? "other"} />
      <b>{op}</b>
      <span>{[where, name === op ? "" : name].filter((part) => part !== "").join(" · ")}</span>
      <em>{nodeWeight(view, node)}</em>
      {device === null || device[node] === 0 ? null : (
        <svg viewBox="0 0 10 10" style={{ fill: `var(${look.color})` }} role="img" aria-label={look.name}>
          <path d={look.glyph} />
        </svg>
      )}
    </>
  );
}
