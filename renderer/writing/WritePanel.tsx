/**
 * The one form for writing a model: what is planned and chosen, where it goes, progress with cancel,
 * what went wrong, and what was written. A feature fills in its choices, its tables and its words.
 */
import type { ReactNode } from "react";
import { useEffect, useRef } from "react";
import type { WritePlan } from "../../main/contract/views/write.ts";
import type { WireError } from "../../main/diagnostics/errors.ts";
import { current } from "../session/async.ts";
import { useSession } from "../session/context.tsx";
import { Button } from "../ui/Button.tsx";
import { Card, Note } from "../ui/Card.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { bytes } from "../ui/format.ts";
import fields from "../ui/fields.module.css";
import { Progress } from "../ui/states.tsx";
import type { WriteActions, WriteItem, WriteState, WriteWork } from "./writing.ts";
import { isSuggestedFolder, isThereAlready } from "./writing.ts";
import { FileOut } from "./FileOut.tsx";
import styles from "./Write.module.css";

export interface WriteWords {
  /** What becomes: "package". */
  readonly thing: string;
  /** On the button that writes it. */
  readonly verb: string;
  readonly title: string;
}

export interface WritePanelProps<Plan, Item> {
  readonly words: WriteWords;
  readonly state: WriteState<Plan, Item>;
  readonly actions: WriteActions;
  /** What the plan is about: a change of it asks for another plan. */
  readonly about: unknown;
  readonly aside?: (plan: Plan) => ReactNode;
  /** Choices and tables of a plan, and why it cannot be written as chosen. */
  readonly children: (plan: Plan) => { readonly body: ReactNode; readonly lacks?: string | null };
  /** The report; each form has its own table. */
  readonly report: ReactNode;
}

export function WritePanel<Plan extends WritePlan, Item extends WriteItem>({
  words,
  state,
  actions,
  about,
  aside,
  children,
  report,
}: WritePanelProps<Plan, Item>): ReactNode {
  useEffect(() => void actions.load(), [actions, about]);
  const plan = current(state.plan) ?? state.planned;
  const unplanned =
    state.plan.kind === "failed" ? (
      <ErrorNote
        title={`The ${words.thing} could not be planned`}
        error={state.plan.error}
        onRetry={() => void actions.load()}
      />
    ) : null;
  return (
    <div className={styles["panel"]}>
      {plan === null ? (
        (unplanned ?? <Progress sentence={`Planning the ${words.thing}`} fraction={null} />)
      ) : (
        <PlanCard
          title={words.title}
          aside={aside?.(plan)}
          plan={plan}
          running={state.work.kind === "running"}
          parts={children(plan)}
        >
          {unplanned ?? <Where words={words} state={state} actions={actions} plan={plan} />}
        </PlanCard>
      )}
      <Outcome words={words} work={state.work} actions={actions} />
      {report}
    </div>
  );
}

interface PlanCardProps {
  readonly title: string;
  readonly aside: ReactNode;
  readonly plan: WritePlan;
  /** Nothing is chosen while something is written. */
  readonly running: boolean;
  readonly parts: { readonly body: ReactNode; readonly lacks?: string | null };
  /** Where it goes, when it can be written. */
  readonly children: ReactNode;
}

function PlanCard({ title, aside, plan, running, parts: { body, lacks = null }, children }: PlanCardProps): ReactNode {
  return (
    <Card title={title} aside={aside}>
      <fieldset className={styles["choices"]} disabled={running}>
        {body}
      </fieldset>
      {!plan.can.ok ? (
        <Note>
          {plan.can.sentence} {plan.can.hint ?? ""}
        </Note>
      ) : lacks === null ? (
        children
      ) : (
        <Note>{lacks}</Note>
      )}
    </Card>
  );
}

interface WhereProps {
  readonly words: WriteWords;
  readonly state: Pick<WriteState<unknown, WriteItem>, "path" | "overwrite" | "work">;
  readonly actions: WriteActions;
  readonly plan: WritePlan;
}

const replaceWords = (thing: string): string => `replace an existing ${thing}`;

function Where({ words: { thing, verb }, state, actions, plan }: WhereProps): ReactNode {
  const { path, overwrite, work } = state;
  const { pick, measure } = actions;
  const running = work.kind === "running";
  return (
    <>
      <div className={styles["where"]}>
        <input
          className={fields["path"]}
          aria-label={`Where to write the ${thing}`}
          value={path}
          spellCheck={false}
          disabled={running}
          onChange={(event) => actions.setPath(event.target.value)}
        />
        {pick === null ? null : (
          <Button disabled={running} onClick={() => void pick()}>
            Choose…
          </Button>
        )}
        {measure === null ? null : (
          <Button disabled={running} title="Does the work and writes nothing" onClick={() => void measure()}>
            Only measure
          </Button>
        )}
        <Button look="primary" disabled={running || path.trim() === ""} onClick={() => void actions.start()}>
          {verb}
        </Button>
      </div>
      <div className={styles["below"]}>
        <label>
          <input
            type="checkbox"
            checked={overwrite}
            disabled={running}
            onChange={(event) => actions.setOverwrite(event.target.checked)}
          />{" "}
          {replaceWords(thing)}
        </label>
        {plan.freeDiskBytes === null || !isSuggestedFolder(path, plan) ? null : (
          <span>{bytes(plan.freeDiskBytes)} free on that disk</span>
        )}
      </div>
    </>
  );
}

interface OutcomeProps {
  readonly words: WriteWords;
  readonly work: WriteWork<Exclude<WriteItem, { readonly kind: "done" }>>;
  readonly actions: WriteActions;
}

/** What begins or fails below a long plan comes into view. */
function Outcome(props: OutcomeProps): ReactNode {
  const { kind } = props.work;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (kind !== "none") box.current?.scrollIntoView({ block: "nearest" });
  }, [kind]);
  return kind === "none" ? null : (
    <div ref={box}>
      <OutcomeBody {...props} />
    </div>
  );
}

function OutcomeBody({ words, work, actions }: OutcomeProps): ReactNode {
  switch (work.kind) {
    case "none":
      return null;
    case "running":
      return <Running work={work} onCancel={actions.stop} />;
    case "failed":
      return <Failed thing={words.thing} error={work.error} actions={actions} />;
    case "cancelled":
      return (
        <p role="status" className={styles["said"]}>
          Cancelled. Nothing was left behind.
        </p>
      );
  }
}

interface FailedProps {
  readonly thing: string;
  readonly error: WireError;
  readonly actions: WriteActions;
}

function Failed({ thing, error, actions }: FailedProps): ReactNode {
  const title = `The ${thing} was not written`;
  const start = (): void => void actions.start();
  if (!isThereAlready(error))
    // The same path would fail again: another one is typed above.
    return <ErrorNote title={title} error={error} onRetry={error.code === "INPUT_ARGUMENT" ? undefined : start} />;
  return (
    <ErrorNote title={title} error={{ ...error, hint: `Choose another name, or tick “${replaceWords(thing)}”.` }}>
      <Button
        small
        onClick={() => {
          actions.setOverwrite(true);
          start();
        }}
      >
        Replace it
      </Button>
    </ErrorNote>
  );
}

interface RunningProps {
  readonly work: Extract<OutcomeProps["work"], { readonly kind: "running" }>;
  readonly onCancel: () => void;
}

function Running({ work: { step, since }, onCancel }: RunningProps): ReactNode {
  const fraction =
    step === null
      ? null
      : step.kind === "phase"
        ? step.fraction
        : step.totalBytes === 0
          ? null
          : step.doneBytes / step.totalBytes;
  return (
    <Card
      title="Writing"
      aside={step?.kind === "progress" ? `${bytes(step.doneBytes)} of ${bytes(step.totalBytes)}` : undefined}
    >
      <Progress sentence={step?.sentence ?? "Starting"} fraction={fraction} since={since} />
      <div className={styles["below"]}>
        <Button small onClick={onCancel}>
          Cancel
        </Button>
        <span>Written under another name until it is complete.</span>
      </div>
    </Card>
  );
}

export interface WrittenProps {
  /** In how much time: "3.1 s". */
  readonly seconds: string;
  /** None where the work was only measured. */
  readonly paths: readonly string[];
  /** Another work has begun since. */
  readonly before: boolean;
  readonly sentence: string;
  /** Whether the result can be opened here. */
  readonly opens: boolean;
  readonly children?: ReactNode;
}

export function Written({ seconds, paths, before, sentence, opens, children }: WrittenProps): ReactNode {
  const open = useSession((s) => s.open);
  const show = useSession((s) => s.showInFolder);
  const [path] = paths;
  const did = path === undefined ? "Measured" : "Written";
  return (
    <section className={styles["report"]} aria-label="Report">
      <div className={styles["reportHead"]}>
        <div>
          <h2>{before ? `Previous result, ${did.toLowerCase()} in ${seconds}` : `${did} in ${seconds}`}</h2>
          {paths.slice(0, MOST_PATHS).map((each) => (
            <p key={each} className={styles["path"]}>
              {each}
            </p>
          ))}
          {paths.length > MOST_PATHS ? <p>and {paths.length - MOST_PATHS} more files</p> : null}
          <p>{sentence}</p>
        </div>
        {path === undefined ? null : (
          <div className={styles["actions"]}>
            {opens ? (
              <Button small onClick={() => void open({ kind: "path", path })}>
                Open it
              </Button>
            ) : null}
            {show === null ? null : (
              <Button small onClick={() => show(path)}>
                Show in folder
              </Button>
            )}
            <FileOut file={{ paths }} />
          </div>
        )}
      </div>
      {children}
    </section>
  );
}

const MOST_PATHS = 4;
