/** Two sides against each other: what differs in words first, then routes, numbers, speed, words and structure. */
import type { ReactNode } from "react";
import { useEffect, useMemo } from "react";
import { testWords } from "../../../main/contract/benchText.ts";
import { forecastFor } from "../../../main/contract/forecastFor.ts";
import { backendTitle } from "../../../main/contract/views/graph.ts";
import type { Comparison } from "../../../main/contract/views/compare.ts";
import { current } from "../../session/async.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { MeasureAnyway } from "../../ui/MeasureAnyway.tsx";
import { figureText, significant } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { diffWords } from "../../ui/textDiff.ts";
import table from "../../ui/table.module.css";
import { CostsCard, GraphCard, KeysCard, MovedCard, NumbersCard, TensorsCard } from "./Differences.tsx";
import { MergedCard } from "./MergedCard.tsx";
import { firstHere, keyOf } from "./sides.ts";
import { SidePicker } from "./SidePicker.tsx";
import { TwinRibbons } from "./TwinRibbons.tsx";
import { useCompare } from "./useCompare.ts";
import styles from "./Compare.module.css";

/** `choice`: measures which file to take; `taken`: what that found. */
export function CompareTab({
  choice,
  taken,
}: {
  readonly choice: ReactNode;
  readonly taken: string | null;
}): ReactNode {
  const begin = useCompare((s) => s.beginCompare);
  const model = useCompare((s) => current(s.model)?.model ?? null);
  const backend = useCompare((s) => s.backend);
  const target = useCompare((s) => s.target);
  const phase = useCompare((s) => s.phase);
  const state = useCompare((s) => s.comparison);
  // Once for each subject of the window: a comparison that was stopped stays so.
  useEffect(() => void begin(), [begin, model, backend, target, phase]);
  const watch = useCompare((s) => s.watchFound);
  // Models that lie here can stand on a side, though none of them was open before.
  const connected = useCompare((s) => s.connection === "connected");
  useEffect(() => (connected ? watch() : undefined), [connected, watch]);
  const shown = current(state);
  return (
    <div className={styles["tab"]}>
      <SidesCard />
      <Working />
      {state.kind === "failed" ? <ErrorNote title="The comparison" error={state.error} /> : null}
      <NotMeasured />
      {shown === null ? null : <Shown comparison={shown} taken={taken} choice={choice} />}
    </div>
  );
}

function SidesCard(): ReactNode {
  const sides = useCompare((s) => s.sides);
  const swap = useCompare((s) => s.swapSides);
  const again = useCompare((s) => s.compareAgain);
  const bench = useCompare((s) => s.benchSides);
  const save = useCompare((s) => s.saveComparison);
  const busy = useCompare((s) => s.comparing !== null);
  const shown = useCompare((s) => current(s.comparison));
  const refusal = useCompare((s) => s.sidesRefusal);
  if (sides === null) return null;
  return (
    <Card title="Compare" aside="two models, or one on two targets">
      <div className={styles["sides"]}>
        <SidePicker side="a" choice={sides.a} />
        <IconButton label="Swap the sides" onClick={swap}>
          ⇄
        </IconButton>
        <SidePicker side="b" choice={sides.b} />
      </div>
      <div className={styles["actions"]}>
        <Button look="primary" disabled={busy} onClick={() => void again()}>
          Compare
        </Button>
        <Button
          disabled={busy || shown === null || refusal !== null}
          title={refusal ?? undefined}
          onClick={() => void bench()}
        >
          Measure both in turn
        </Button>
        <Button disabled={busy || shown === null} onClick={() => void save()}>
          Save as HTML…
        </Button>
        {shown === null ? null : (
          <CopyButton
            label="Copy the sentences"
            text={() => shown.sentences.map((sentence) => `- ${sentence}`).join("\n")}
          />
        )}
      </div>
      {refusal === null ? null : <NotHere refusal={refusal} />}
    </Card>
  );
}

/** Why these two cannot be measured on this machine, and on what they can. */
function NotHere({ refusal }: { readonly refusal: string }): ReactNode {
  const info = useCompare((s) => current(s.info));
  const here = firstHere(info?.devices ?? []);
  const measure = useCompare((s) => s.measureHere);
  const busy = useCompare((s) => s.comparing !== null);
  const twoModels = useCompare((s) => s.sides !== null && keyOf(s.sides.a.model) !== keyOf(s.sides.b.model));
  return (
    <>
      <Note>Not measured in turn: {refusal}</Note>
      {here === null || !twoModels ? null : (
        <div className={styles["actions"]}>
          <Button disabled={busy} onClick={() => void measure()}>
            Measure both on {backendTitle(here.backend)} here
          </Button>
        </div>
      )}
    </>
  );
}

function NotMeasured(): ReactNode {
  const error = useCompare((s) => s.sidesError);
  const bench = useCompare((s) => s.benchSides);
  if (error === null) return null;
  const isNotQuiet = error.code === "ENV_NOT_QUIET";
  return (
    <>
      <ErrorNote
        title={isNotQuiet ? "This machine is not quiet" : "The sides could not be measured"}
        error={error}
        onRetry={() => void bench()}
      />
      {isNotQuiet ? <MeasureAnyway onMeasure={() => void bench("warn")} /> : null}
    </>
  );
}

function Working(): ReactNode {
  const comparing = useCompare((s) => s.comparing);
  const stop = useCompare((s) => s.stopComparing);
  const bench = useCompare((s) => s.benchSides);
  if (comparing === null) return null;
  const { sentence, fraction, since, waiting } = comparing;
  return (
    <>
      <div className={styles["working"]}>
        <Progress sentence={sentence} fraction={fraction} since={since} />
        <Button small onClick={stop}>
          Stop
        </Button>
      </div>
      {waiting ? <MeasureAnyway onMeasure={() => void bench("warn")} /> : null}
    </>
  );
}

interface ShownProps {
  readonly comparison: Comparison;
  readonly taken: string | null;
  readonly choice: ReactNode;
}

function Shown({ comparison, taken, choice }: ShownProps): ReactNode {
  const { routing, graph, speed, words } = comparison;
  const sentences = taken === null ? comparison.sentences : [taken, ...comparison.sentences];
  const predictedFor = forecastFor(comparison);
  return (
    <>
      <section aria-label="In words" className={styles["words"]}>
        <ol data-single={sentences.length === 1}>
          {sentences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ol>
      </section>
      {speed === null ? null : <SpeedCard speed={speed} />}
      {routing === null ? null : (
        <Card title="Routes" aside={`each as long as its step takes, predicted for ${predictedFor}`}>
          <TwinRibbons routing={routing} />
        </Card>
      )}
      {choice}
      <MergedCard />
      <div className={styles["columns"]}>
        <NumbersCard numbers={comparison.numbers} predictedFor={predictedFor} />
        {words === null ? null : <WordsCard words={words} />}
        {routing === null ? null : <CostsCard costs={comparison.costs} />}
        {routing === null ? null : <MovedCard routing={routing} />}
        {graph === null ? null : <GraphCard graph={graph} />}
        <TensorsCard tensors={comparison.tensors} />
        <KeysCard keys={comparison.keys} facts={comparison.facts} />
      </div>
    </>
  );
}

function SpeedCard({ speed }: { readonly speed: NonNullable<Comparison["speed"]> }): ReactNode {
  const { names, rows, differences } = speed;
  return (
    <Card title="Measured" aside={names.a === names.b ? names.a : `A: ${names.a}, B: ${names.b}`}>
      {rows.length === 0 ? (
        <Note>The two have no test in common.</Note>
      ) : (
        <table className={cx(table["table"], table["bleed"])}>
          <thead>
            <tr>
              <th>test</th>
              <th>A</th>
              <th>B</th>
              <th>B to A</th>
              <th className={table["left"]}>verdict</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ test, a, b, ratio, sentence }) => (
              <tr key={test}>
                <td title={test}>{testWords(test)}</td>
                <td>{figureText(a)}</td>
                <td>{figureText(b)}</td>
                <td>
                  {ratio === null
                    ? "–"
                    : `${significant(ratio.value)} × (${significant(ratio.low)} to ${significant(ratio.high)})`}
                </td>
                <td className={table["text"]}>{sentence}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {differences.length === 0 ? null : <Note>What else differs: {differences.join(", ")}.</Note>}
    </Card>
  );
}

/** The answers word by word: of runs of this window, and of kept sessions. */
function WordsCard({ words }: { readonly words: NonNullable<Comparison["words"]> }): ReactNode {
  const texts = useCompare((s) => s.comparedAnswers);
  const parts = useMemo(() => (texts === null ? null : diffWords(texts.a, texts.b)), [texts]);
  return (
    <Card title="Answers" aside={`${words.names.a} and ${words.names.b}`}>
      <Note>{words.sentence}</Note>
      {parts === null ? null : (
        <div className={styles["texts"]}>
          {(["left", "right"] as const).map((own) => (
            <p key={own}>
              {parts
                .filter(({ kind }) => kind === "same" || kind === own)
                .map(({ kind, text }, i) =>
                  kind === "same" ? (
                    <span key={i}>{text}</span>
                  ) : (
                    <mark key={i} data-side={kind}>
                      {text}
                    </mark>
                  ),
                )}
            </p>
          ))}
        </div>
      )}
    </Card>
  );
}
