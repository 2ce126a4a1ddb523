/**
 * The way of the subject to its end, one card a step: what each step changed, and what the program would be worth from there. A
 * scrubber runs over the steps, and a halving finds the one that lost something.
 */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import { backendTitle, ROUTED, stepTitle } from "../../../main/contract/views/graph.ts";
import type { Watched } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { approximate, count, seconds, share, signed, THIN } from "../../ui/format.ts";
import type { LaneSlice, LaneStep } from "./laneSlice.ts";
import { ResultBisect } from "./ResultBisect.tsx";
import type { PipelineSlice } from "./slice.ts";
import styles from "./Lane.module.css";

const useLane = sliceHook<LaneSlice & PipelineSlice>();

export function Lane(): ReactNode {
  const state = useLane((s) => s.lane);
  const at = useLane((s) => s.laneAt);
  const scrub = useLane((s) => s.scrub);
  const stopped = useLane((s) => s.laneStopped);
  const stop = useLane((s) => s.stopLane);
  const backend = useLane((s) => s.backend);
  const lane = current(state);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [at]);
  if (state.kind === "failed") return <ErrorNote title="The steps could not be worked out" error={state.error} />;
  const steps = lane?.steps ?? [];
  const known = steps.filter(({ numbers }) => numbers !== null).length;
  const title = (name: string): string => stepTitle(backend, name);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const to = event.key === "Home" ? 0 : event.key === "End" ? steps.length - 1 : step === 0 ? null : at + step;
    if (to === null) return;
    event.preventDefault();
    scrub(to);
  };
  return (
    <section className={styles["lane"]} aria-label="Steps of the pipeline">
      <div className={styles["way"]}>
        <div
          ref={list}
          className={styles["steps"]}
          role="listbox"
          aria-label={`The way to ${backendTitle(backend)}`}
          aria-orientation="horizontal"
          aria-busy={state.kind === "loading"}
          tabIndex={0}
          aria-activedescendant={steps.length === 0 ? undefined : `step-${at}`}
          onKeyDown={onKeyDown}
        >
          {steps.map((step, i) => (
            <Step
              key={step.name}
              id={`step-${i}`}
              title={title(step.name)}
              step={step}
              before={steps[i - 1] ?? null}
              chosen={i === at}
              onClick={() => scrub(i)}
            />
          ))}
        </div>
      </div>
      <div className={styles["tools"]}>
        <input
          type="range"
          aria-label="Step"
          min={0}
          max={Math.max(0, steps.length - 1)}
          value={at}
          disabled={steps.length < 2}
          aria-valuetext={title(steps[at]?.name ?? "")}
          onChange={(event) => scrub(Number(event.target.value))}
        />
        <span className={styles["note"]} role="status">
          {state.kind === "loading" ? (
            <>
              {steps.length === 0 ? "Running the passes …" : `Working out step ${known + 1} of ${steps.length} …`}
              <Button small look="ghost" onClick={stop}>
                Stop
              </Button>
            </>
          ) : stopped ? (
            <Again known={known} steps={steps.length} />
          ) : null}
        </span>
        <Bisect />
      </div>
      <ResultBisect />
    </section>
  );
}

function Again({ known, steps }: { readonly known: number; readonly steps: number }): ReactNode {
  const load = useLane((s) => s.restartLane);
  return (
    <>
      Stopped: {known} of {steps} known
      <Button small look="ghost" onClick={() => void load()}>
        Go on
      </Button>
    </>
  );
}

interface StepProps {
  readonly id: string;
  readonly title: string;
  readonly step: LaneStep;
  readonly before: LaneStep | null;
  readonly chosen: boolean;
  readonly onClick: () => void;
}

function Step({ id, title, step, before, chosen, onClick }: StepProps): ReactNode {
  const rows = laneRows(step, before);
  return (
    <div
      id={id}
      role="option"
      aria-selected={chosen}
      className={cx(styles["step"], chosen && styles["on"])}
      title={`${title}. ${step.says === "" ? "" : `${step.says} `}What the program would be worth if it took the shortest way to the end from here.`}
      onClick={onClick}
    >
      <b>{title}</b>
      {rows.map(({ label, value, change, worse }) => (
        <span key={label} className={styles["row"]}>
          <span>{label}</span>
          <span>{value}</span>
          <em className={cx(worse && styles["worse"])}>{change}</em>
        </span>
      ))}
    </div>
  );
}

export interface LaneRow {
  readonly label: string;
  readonly value: string;
  /** Against the step before; "" where nothing changed. */
  readonly change: string;
  readonly worse: boolean;
}

const LEAST = 5e-4;

/** Ops, hops, ANE share and time of a step, each with its change. */
export function laneRows({ ops, counts, numbers }: LaneStep, before: LaneStep | null): readonly LaneRow[] {
  const waiting = (label: string): LaneRow => ({ label, value: "…", change: "", worse: false });
  const was = before?.numbers ?? null;
  const opsBy = (ops ?? 0) - (before?.ops ?? ops ?? 0);
  // "MIL operations", "instructions": the card has room for the last word.
  const label = counts.split(" ").at(-1) ?? counts;
  const rows: LaneRow[] = [
    {
      label,
      value: ops !== null ? count(ops) : numbers === null ? "…" : "not all",
      change: ops === null || opsBy === 0 ? "" : signed(opsBy),
      worse: false,
    },
  ];
  if (numbers === null) return [...rows, waiting("time")];
  const { hops, aneShare } = numbers;
  if (hops !== null) {
    const by = hops - (was?.hops ?? hops);
    rows.push({ label: "hops", value: count(hops), change: by === 0 ? "" : signed(by), worse: by > 0 });
  }
  if (aneShare !== null) {
    const by = aneShare - (was?.aneShare ?? aneShare);
    const change = Math.abs(by) < LEAST ? "" : `${by > 0 ? "+" : "\u2212"}${share(Math.abs(by))}`;
    rows.push({ label: "ANE", value: share(aneShare), change, worse: by <= -LEAST });
  }
  const { value } = numbers.seconds;
  const by = value - (was?.seconds.value ?? value);
  const change = Math.abs(by) <= value * LEAST ? "" : `${by > 0 ? "+" : "\u2212"}${seconds(Math.abs(by))}`;
  rows.push({ label: "time", value: approximate(seconds(value)), change, worse: by > value * LEAST });
  return rows;
}

const NUMBERS = [
  { id: "ane", title: "the ANE share", placed: true },
  { id: "hops", title: "hops", placed: true },
  { id: "seconds", title: "the time", placed: false },
  { id: "ops", title: "the number of ops", placed: false },
] as const;
const DEVICE = "device";

function Bisect(): ReactNode {
  const backend = useLane((s) => s.backend);
  const state = useLane((s) => s.bisection);
  const bisect = useLane((s) => s.bisect);
  const stop = useLane((s) => s.stopBisect);
  const node = useLane((s) => (s.selection.kind === "node" ? current(s.node) : null));
  const [chosen, setChosen] = useState<string>("seconds");
  const placed = backend === ROUTED.backend;
  const choices = NUMBERS.filter((each) => placed || !each.placed);
  const number = choices.find(({ id }) => id === chosen);
  const watched: Watched | null = number !== undefined ? number.id : node === null ? null : { op: node.id };
  const found = current(state);
  return (
    <>
      <div className={styles["bisect"]}>
        <ChoiceField
          label="Which step lost"
          value={number?.id ?? (node === null ? "seconds" : DEVICE)}
          options={[
            ...choices,
            ...(placed && node !== null ? [{ id: DEVICE, title: `the device of ${node.op} ${node.name}` }] : []),
          ]}
          onChange={setChosen}
        />
      </div>
      {state.kind === "loading" ? (
        <Button small onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button small disabled={watched === null} onClick={() => void bisect(watched ?? "seconds")}>
          Bisect
        </Button>
      )}
      <output className={styles["found"]} aria-live="polite">
        {state.kind === "loading"
          ? "Halving …"
          : state.kind === "failed"
            ? state.error.message
            : (found?.sentence.replaceAll(" %", `${THIN}%`) ?? "")}
      </output>
    </>
  );
}
