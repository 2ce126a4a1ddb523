/**
 * The navigator: beside a run the conversations; the structure as a tree (what the canvas draws, for keyboard and screen reader), the
 * passes, past runs, a filter.
 */
import { isGraphAlone } from "../../main/contract/views/model.ts";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Tab } from "../../main/contract/commands.ts";
import { BACKENDS, isRouted } from "../../main/contract/views/graph.ts";
import { foldGraph } from "../graph/fold.ts";
import { groupName, nodeName, opName, pathOf } from "../graph/graphModel.ts";
import { segmentsOfNodes } from "../graph/hopWords.ts";
import { parseQuery, searchFault, searchNodes } from "../graph/search.ts";
import { current } from "../session/async.ts";
import { walkButtons } from "../ui/arrowFocus.ts";
import { cx } from "../ui/cx.ts";
import { SearchField } from "../ui/fields.tsx";
import { count, signed } from "../ui/format.ts";
import { gainText } from "../features/advice/AdviceCards.tsx";
import { modelName } from "../features/bench/slice.ts";
import { routeColumns } from "../drawing/pictureState.ts";
import { Notes } from "../features/notes/Notes.tsx";
import { ConversationList } from "../features/run/ConversationList.tsx";
import { pastRuns } from "./pastRuns.ts";
import type { TreeRow } from "./treeRows.ts";
import { rowsWithin, treeRows } from "./treeRows.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Navigator.module.css";

const ROW = 25;
const MAX_FOUND = 200;

/** Tabs that neither structure nor passes say anything about: there they are folded. */
const FOLDED_ON: ReadonlySet<Tab> = new Set(["run", "bench", "export"]);

type Folded = "structure" | "passes";

export function Navigator(): ReactNode {
  const [filter, setFilter] = useState("");
  const canGraph = useWorkbench((state) => current(state.model)?.canGraph.ok === true);
  const tab = useWorkbench((state) => state.tab);
  const isTalk = useWorkbench(
    (state) => state.tab === "run" && !isGraphAlone(current(state.model)?.kind ?? "model") && canGraph,
  );
  const [unfolded, setUnfolded] = useState<ReadonlySet<Folded>>(new Set());
  const folds = FOLDED_ON.has(tab);
  // What is looked for in the structure is shown.
  const structure = !folds || unfolded.has("structure") || (!isTalk && filter !== "");
  const passes = !folds || unfolded.has("passes");
  const toggle = (part: Folded): void =>
    setUnfolded(new Set(unfolded.has(part) ? [...unfolded].filter((each) => each !== part) : [...unfolded, part]));
  return (
    <nav className={styles["navigator"]} aria-label="Structure, passes and advice">
      {isTalk ? <ConversationList filter={filter} /> : null}
      <Heading title="Structure" isOpen={structure} onToggle={folds ? () => toggle("structure") : null} />
      {!structure ? null : canGraph ? (
        <Structure filter={isTalk ? "" : filter} />
      ) : (
        <p className={styles["none"]}>This file has no graph here.</p>
      )}
      {canGraph ? <Passes isOpen={passes} onToggle={folds ? () => toggle("passes") : null} /> : null}
      {canGraph ? <Advice /> : null}
      {isTalk ? null : <Runs />}
      <Notes />
      <div className={styles["filter"]}>
        <SearchField
          id={isTalk ? "conversation-filter" : "structure-filter"}
          label={isTalk ? "Filter the conversations" : "Filter the structure"}
          placeholder={isTalk ? "Find a conversation…" : "Filter…"}
          value={filter}
          onChange={setFilter}
          onEscape={() => setFilter("")}
        />
      </div>
    </nav>
  );
}

interface HeadingProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** null: it is always open. */
  readonly onToggle: (() => void) | null;
}

function Heading({ title, isOpen, onToggle }: HeadingProps): ReactNode {
  if (onToggle === null) return <h3>{title}</h3>;
  return (
    <h3>
      <button type="button" className={styles["fold"]} aria-expanded={isOpen} onClick={onToggle}>
        <span className={styles["twist"]} aria-hidden="true">
          {isOpen ? "▾" : "▸"}
        </span>
        {title}
      </button>
    </h3>
  );
}

function Structure({ filter }: { readonly filter: string }): ReactNode {
  const picture = useWorkbench((state) => current(state.picture));
  const open = useWorkbench((state) => state.openGroups);
  const device = useWorkbench((state) => routeColumns(state).device);
  const work = useWorkbench((state) => routeColumns(state).work);
  const columns = useMemo(() => ({ device, work }), [device, work]);
  const rows = useMemo((): readonly TreeRow[] => {
    if (picture === null) return [];
    const { model, classes, rough } = picture;
    if (filter.trim() === "") return treeRows(model, foldGraph(model, { open, classes, rough }), classes);
    return searchNodes(model, parseQuery(filter), columns)
      .slice(0, MAX_FOUND)
      .map((node) => ({
        key: `n${node}`,
        depth: 0,
        title: `${opName(model.view, node)} ${nodeName(model.view, node)}`,
        aside: groupName(model.view, pathOf(model.view, node)[2] ?? 0),
        open: null,
        target: { kind: "node", node },
        last: -1,
      }));
  }, [picture, open, filter, columns]);
  const within = useSegmentRows(rows);
  const fault = searchFault(parseQuery(filter), columns);
  return fault === null ? <Tree rows={rows} within={within} /> : <p className={styles["none"]}>{fault}</p>;
}

/** The rows of the selected segment, as the canvas leaves their boxes bright. */
function useSegmentRows(rows: readonly TreeRow[]): ReadonlySet<string> {
  const picture = useWorkbench((state) => current(state.picture));
  const segment = useWorkbench((state) => (state.selection.kind === "segment" ? state.selection.index : -1));
  const route = useWorkbench((state) => (isRouted(state.graphStage) ? current(state.routes[state.phase]) : null));
  return useMemo((): ReadonlySet<string> => {
    const nodeCount = picture?.model.view.nodeCount;
    if (picture === null || segment < 0 || route === null || nodeCount !== route.nodes.device.length) return NO_ROWS;
    return rowsWithin(picture.model, rows, segmentsOfNodes(nodeCount, route), segment);
  }, [picture, rows, segment, route]);
}

const NO_ROWS: ReadonlySet<string> = new Set();

interface TreeProps {
  readonly rows: readonly TreeRow[];
  /** Keys of the rows that are marked beside the selected one. */
  readonly within: ReadonlySet<string>;
}

function Tree({ rows, within }: TreeProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const selection = useWorkbench((state) => state.selection);
  const toggleGroup = useWorkbench((state) => state.toggleGroup);
  const showNode = useWorkbench((state) => state.showNode);
  const showGroup = useWorkbench((state) => state.showGroup);
  const setTab = useWorkbench((state) => state.setTab);
  const [at, setAt] = useState(0);
  // oxlint-disable-next-line react/incompatible-library -- only the compiler minds, and we do not use it
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const isSelected = (row: TreeRow): boolean =>
    row.target !== null &&
    ((selection.kind === "node" && row.target.kind === "node" && row.target.node === selection.node) ||
      (selection.kind === "group" &&
        row.target.kind === "group" &&
        selection.group >= row.target.group &&
        selection.group <= row.last));
  const selectedAt = rows.findIndex(isSelected);
  useEffect(() => {
    if (selectedAt < 0) return;
    setAt(selectedAt);
    virtual.scrollToIndex(selectedAt);
    // Only when the selection moves: scrolling by hand must not be undone.
  }, [selectedAt, virtual]);

  const activate = (row: TreeRow | undefined): void => {
    if (row === undefined || row.target === null) return;
    if (row.target.kind === "node") showNode(row.target.node);
    else showGroup(row.target.group);
    setTab("graph");
  };
  const toggle = (row: TreeRow | undefined, wanted?: boolean): void => {
    if (row?.target?.kind !== "group" || row.open === null || row.open === wanted) return;
    toggleGroup(row.target.group);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[at];
    const move = (to: number): void => {
      const next = Math.min(rows.length - 1, Math.max(0, to));
      setAt(next);
      virtual.scrollToIndex(next);
    };
    switch (event.key) {
      case "ArrowDown":
        move(at + 1);
        break;
      case "ArrowUp":
        move(at - 1);
        break;
      case "Home":
        move(0);
        break;
      case "End":
        move(rows.length - 1);
        break;
      case "ArrowRight":
        toggle(row, true);
        break;
      case "ArrowLeft":
        if (row?.open === true) toggle(row, false);
        else move(rows.findLastIndex((other, i) => i < at && other.depth < (row?.depth ?? 0)));
        break;
      case "Enter":
      case " ":
        activate(row);
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  return (
    <div
      ref={scroller}
      className={styles["tree"]}
      role="tree"
      aria-label="Structure"
      tabIndex={0}
      aria-activedescendant={rows[at] === undefined ? undefined : `tree-${rows[at].key}`}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.key}
              id={`tree-${row.key}`}
              role="treeitem"
              aria-level={row.depth + 1}
              aria-selected={index === selectedAt}
              {...(row.open === null ? {} : { "aria-expanded": row.open })}
              className={cx(
                styles["row"],
                within.has(row.key) && styles["within"],
                index === selectedAt && styles["on"],
                index === at && styles["at"],
                row.target === null && styles["heading"],
              )}
              style={{ transform: `translateY(${start}px)`, paddingLeft: 8 + row.depth * 14 }}
              title={`${row.title} ${row.aside}`}
              onClick={() => {
                setAt(index);
                activate(row);
              }}
            >
              <span
                className={styles["twist"]}
                aria-hidden="true"
                onClick={(event) => {
                  event.stopPropagation();
                  toggle(row);
                }}
              >
                {row.open === null ? "" : row.open ? "▾" : "▸"}
              </span>
              <span>{row.title}</span>
              <em>{row.aside}</em>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Passes({ isOpen, onToggle }: Omit<HeadingProps, "title">): ReactNode {
  const list = useWorkbench((state) => current(state.passes));
  const at = useWorkbench((state) => state.passAt);
  const tab = useWorkbench((state) => state.tab);
  const choosePass = useWorkbench((state) => state.choosePass);
  const setTab = useWorkbench((state) => state.setTab);
  if (list === null) return null;
  const changed = list.passes.filter((pass) => pass.changed);
  const quiet = list.passes.length - changed.length;
  return (
    <section className={styles["passes"]} aria-label="Passes">
      <Heading
        title={`Passes for ${BACKENDS.find(({ backend }) => backend === list.backend)?.title ?? list.backend}`}
        isOpen={isOpen}
        onToggle={onToggle}
      />
      <div className={styles["passList"]} hidden={!isOpen || changed.length === 0}>
        {changed.map((pass) => (
          <button
            key={pass.name}
            type="button"
            className={cx(styles["pass"], tab === "pipeline" && pass.name === at && styles["on"])}
            title={pass.reason}
            onClick={() => {
              choosePass(pass.name);
              setTab("pipeline");
            }}
          >
            <span>{pass.name}</span>
            <em>
              {pass.opsAfter === pass.opsBefore ? `${count(pass.hits)}×` : `${signed(pass.opsAfter - pass.opsBefore)}`}
            </em>
          </button>
        ))}
      </div>
      {quiet === 0 || !isOpen ? null : (
        <p className={styles["quiet"]}>
          {count(quiet)} {changed.length === 0 ? "" : "more "}without change
        </p>
      )}
    </section>
  );
}

/** What would make it faster; a row opens its card in the inspector. */
function Advice(): ReactNode {
  const list = useWorkbench((state) => current(state.advices));
  const open = useWorkbench((state) => state.openAdvice);
  const toggle = useWorkbench((state) => state.toggleAdvice);
  const select = useWorkbench((state) => state.select);
  const tab = useWorkbench((state) => state.tab);
  const setTab = useWorkbench((state) => state.setTab);
  if (list === null) return null;
  return (
    <section className={styles["advice"]} aria-label="Advice" onKeyDown={walkButtons}>
      <h3>
        Advice <em className={styles["quiet"]}>{list.advices.length === 0 ? "none" : count(list.advices.length)}</em>
      </h3>
      {list.advices.map((advice) => (
        <button
          key={advice.rule}
          type="button"
          className={cx(styles["pass"], advice.rule === open && styles["on"])}
          title={advice.claim}
          onClick={() => {
            toggle(advice.rule, true);
            select({ kind: "none" });
            if (tab !== "graph") setTab("overview");
          }}
        >
          <span>{advice.title}</span>
          <em>{gainText(advice)}</em>
        </button>
      ))}
    </section>
  );
}

const SHOWN_RUNS = 4;

function Runs(): ReactNode {
  const runs = useWorkbench((state) => state.runHistory);
  const results = useWorkbench((state) => state.benchResults);
  const overview = useWorkbench((state) => current(state.model));
  const setTab = useWorkbench((state) => state.setTab);
  const showHistory = useWorkbench((state) => state.showHistory);
  const list = useMemo(
    () => (overview === null ? [] : pastRuns(runs, results, modelName(overview), SHOWN_RUNS)),
    [runs, results, overview],
  );
  if (list.length === 0) return null;
  return (
    <section className={styles["runs"]} aria-label="Runs">
      <h3>Runs</h3>
      {list.map(({ key, run, tab, title, aside, details }) => (
        <button
          key={key}
          type="button"
          className={styles["pass"]}
          title={details}
          onClick={() => {
            if (run !== null) showHistory(true, run);
            setTab(tab);
          }}
        >
          <span>{title}</span>
          <em>{aside}</em>
        </button>
      ))}
    </section>
  );
}
