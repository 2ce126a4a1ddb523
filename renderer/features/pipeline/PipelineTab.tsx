/**
 * The pipeline: the passes in order, the diff of the chosen one, and the whole program as IR or
 * MIL.
 */
import type { KeyboardEvent, ReactNode } from "react";
import type { PassView } from "../../../main/contract/views/graph.ts";
import { loweredOf } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, figureText, plural, signed } from "../../ui/format.ts";
import { DiffView, TextView } from "../../ui/monaco/TextView.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import { SearchField } from "../../ui/fields.tsx";
import type { FindSlice } from "./findSlice.ts";
import { foundLine } from "./findSlice.ts";
import { Lane } from "./Lane.tsx";
import type { LaneSlice } from "./laneSlice.ts";
import { StepTable } from "./StepTable.tsx";
import type { PipelineSlice } from "./slice.ts";
import { PAGE_LINES } from "./slice.ts";
import styles from "./Pipeline.module.css";

const usePipeline = sliceHook<PipelineSlice & FindSlice & LaneSlice>();

export function PipelineTab(): ReactNode {
  const state = usePipeline((s) => s.passes);
  const list = current(state);
  const load = usePipeline((s) => s.loadPasses);
  if (state.kind === "failed")
    return (
      <div className={styles["message"]}>
        <ErrorNote title="The passes could not be run" error={state.error} onRetry={() => void load()} />
      </div>
    );
  if (list === null)
    return (
      <div className={styles["message"]}>
        <Progress sentence="Running the passes" fraction={null} />
      </div>
    );
  return (
    <div className={styles["tab"]}>
      <Lane />
      <PassTable passes={list.passes} total={figureText(list.total)} />
      <Texts passes={list.passes} />
    </div>
  );
}

function PassTable({ passes, total }: { readonly passes: readonly PassView[]; readonly total: string }): ReactNode {
  const at = usePipeline((s) => s.passAt);
  const changedOnly = usePipeline((s) => s.changedOnly);
  const setChangedOnly = usePipeline((s) => s.setChangedOnly);
  const choosePass = usePipeline((s) => s.choosePass);
  const stepPass = usePipeline((s) => s.stepPass);
  const shown = passes.filter((pass) => pass.changed || !changedOnly);
  const chosen = shown.find(({ name }) => name === at);
  const onKeyDown = (event: KeyboardEvent): void => {
    const bracket = event.code === "BracketRight" ? 1 : event.code === "BracketLeft" ? -1 : 0;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : bracket;
    if (step === 0) return;
    event.preventDefault();
    stepPass(step, bracket === 0 ? undefined : event.shiftKey ? "changed" : "all");
  };
  return (
    <section className={styles["passes"]} aria-label="All passes">
      <div className={styles["tools"]}>
        <label>
          <input type="checkbox" checked={changedOnly} onChange={(event) => setChangedOnly(event.target.checked)} />{" "}
          only those that changed something
        </label>
        <span>
          {plural(passes.length, "pass", "passes")}, {total}
        </span>
      </div>
      <div
        className={styles["list"]}
        role="listbox"
        aria-label="Passes in order"
        tabIndex={0}
        aria-activedescendant={chosen === undefined ? undefined : `pass-${passes.indexOf(chosen)}`}
        onKeyDown={onKeyDown}
      >
        {shown.map((pass) => (
          <div
            key={pass.name}
            id={`pass-${passes.indexOf(pass)}`}
            role="option"
            aria-selected={pass.name === at}
            className={cx(styles["pass"], pass.name === at && styles["on"], !pass.changed && styles["unchanged"])}
            title={pass.reason}
            onClick={() => choosePass(pass.name)}
          >
            <span className={styles["number"]}>{passes.indexOf(pass) + 1}</span>
            <span className={styles["name"]}>{pass.name}</span>
            <span className={styles["number"]}>
              {pass.changed ? (pass.opsAfter === pass.opsBefore ? "±0" : signed(pass.opsAfter - pass.opsBefore)) : ""}
            </span>
            <span className={styles["number"]}>{figureText(pass.time)}</span>
          </div>
        ))}
      </div>
    </section>
  );
}

const VIEWS = [
  { id: "diff", text: "This step", hint: "Before and after the chosen pass, or what the chosen step did" },
  { id: "rlx-ir", text: "Program", hint: "The legal program in its own text form" },
] as const;

function Texts({ passes }: { readonly passes: readonly PassView[] }): ReactNode {
  const view = usePipeline((s) => s.pipelineView);
  const setView = usePipeline((s) => s.setPipelineView);
  const isStep = usePipeline((s) => s.stepShown !== "");
  const { language, title, counts } = usePipeline((s) => loweredOf(s.backend));
  const views = [...VIEWS, { id: language, text: title, hint: `What the runtime is given: ${counts}` } as const];
  return (
    <section className={styles["texts"]} aria-label="Text">
      <div className={styles["tools"]}>
        <Segmented label="View" value={view} options={views} onChange={setView} />
        {view !== "diff" ? <PageTools /> : isStep ? null : <DiffTools />}
      </div>
      {view !== "diff" ? <Page /> : isStep ? <StepTable /> : <Diff passes={passes} />}
    </section>
  );
}

function DiffTools(): ReactNode {
  const diff = usePipeline((s) => current(s.diff));
  const whole = usePipeline((s) => s.wholeDiff);
  const setWhole = usePipeline((s) => s.setWholeDiff);
  if (diff === null) return null;
  return (
    <span className={styles["note"]}>
      {diff.beforeTitle} → {diff.afterTitle}
      {diff.elidedLines === 0 && !whole ? null : (
        <Button small look="ghost" onClick={() => setWhole(!whole)}>
          {whole ? "Only changes" : `Show ${count(diff.elidedLines)} equal lines`}
        </Button>
      )}
    </span>
  );
}

function Diff({ passes }: { readonly passes: readonly PassView[] }): ReactNode {
  const state = usePipeline((s) => s.diff);
  const at = usePipeline((s) => s.passAt);
  const diff = current(state);
  const pass = passes.find(({ name }) => name === at);
  if (state.kind === "failed")
    return <ErrorNote title="The texts of this pass could not be made" error={state.error} />;
  if (pass !== undefined && !pass.changed)
    return <Empty title={`${pass.name} changed nothing here`}>{pass.reason}</Empty>;
  if (diff === null) return <Progress sentence="Printing both programs" fraction={null} />;
  return (
    <DiffView
      label={`Before and after ${pass?.name ?? "the pass"}`}
      language="rlx-ir"
      before={diff.before}
      after={diff.after}
      sideBySide
      numbered={diff.elidedLines === 0}
    />
  );
}

function PageTools(): ReactNode {
  const page = usePipeline((s) => current(s.page));
  const showLines = usePipeline((s) => s.showLines);
  if (page === null) return null;
  const last = Math.min(page.totalLines, page.firstLine + PAGE_LINES);
  return (
    <span className={styles["note"]}>
      <FindField />
      {plural(page.totalLines, "line")}
      {page.totalLines <= PAGE_LINES ? null : (
        <>
          <Button
            small
            look="ghost"
            disabled={page.firstLine === 0}
            onClick={() => showLines(page.firstLine - PAGE_LINES)}
          >
            Back
          </Button>
          {count(page.firstLine + 1)} – {count(last)}
          <Button small look="ghost" disabled={last >= page.totalLines} onClick={() => showLines(last)}>
            Next
          </Button>
        </>
      )}
    </span>
  );
}

const FIND_FIELD = "text-search";
const focusFind = (): void => document.getElementById(FIND_FIELD)?.focus();

/** In all of the program, whatever page is shown. */
function FindField(): ReactNode {
  const query = usePipeline((s) => s.textQuery);
  const found = usePipeline((s) => s.textFound);
  const at = usePipeline((s) => s.foundAt);
  const setQuery = usePipeline((s) => s.setTextQuery);
  const next = usePipeline((s) => s.nextFound);
  const lines = current(found);
  const words =
    query.trim() === "" || lines === null
      ? ""
      : lines.total === 0
        ? "none"
        : `${at < 0 ? "" : `${count(at + 1)} of `}${count(lines.total)}`;
  return (
    <>
      <SearchField
        id={FIND_FIELD}
        label="Find in the whole text"
        placeholder="Find in the whole text"
        value={query}
        onChange={setQuery}
        onEnter={(backwards) => next(backwards ? -1 : 1)}
        onEscape={() => setQuery("")}
      />
      <output aria-live="polite">{found.kind === "failed" ? found.error.message : words}</output>
    </>
  );
}

function Page(): ReactNode {
  const state = usePipeline((s) => s.page);
  const select = usePipeline((s) => s.select);
  const graph = usePipeline((s) => current(s.graph));
  const backend = usePipeline((s) => s.backend);
  const around = usePipeline((s) => s.pageAround);
  const routed = usePipeline((s) => (s.selection.kind === "node" ? (current(s.node)?.routed ?? null) : null));
  const found = usePipeline(foundLine);
  const page = current(state);
  if (state.kind === "failed") return <ErrorNote title="The program could not be printed" error={state.error} />;
  if (page === null) return <Progress sentence="Printing the program" fraction={null} />;
  const marked = graph === null ? null : (routed ?? around);
  const selectedLine = marked === null ? null : lineOf(page.nodes, page.firstLine, marked);
  return (
    <TextView
      label={page.language === "rlx-ir" ? "Program" : `${loweredOf(backend).title} program`}
      language={page.language}
      text={page.text}
      firstLine={page.firstLine}
      markLine={found ?? selectedLine}
      onFind={focusFind}
      onLine={(line) => {
        const node = page.nodes[line - page.firstLine] ?? -1;
        if (node >= 0 && graph !== null) select({ kind: "node", key: graph.view.key, node });
      }}
    />
  );
}

function lineOf(nodes: Int32Array, firstLine: number, node: number): number | null {
  const at = nodes.indexOf(node);
  return at < 0 ? null : firstLine + at;
}
