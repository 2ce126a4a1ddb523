/**
 * Beside the table: the numbers of the chosen tensor. Small ones are read at once, large ones when
 * that is asked for.
 */
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import type { SpreadView, TensorStatistics } from "../../../main/contract/views/tensors.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, fineShare } from "../../ui/format.ts";
import { Histogram, numberText } from "../../ui/Histogram.tsx";
import { Progress } from "../../ui/states.tsx";
import { DifferenceCard } from "./DifferenceCard.tsx";
import type { TensorsSlice } from "./slice.ts";
import { hasValues } from "./slice.ts";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice>();

/** What is read without being asked: a fraction of a second. */
const AT_ONCE = 64e6;
/** A row that is only passed on the way to another is not read. */
const PAUSE_MS = 120;

export function NumbersCards({ tensor }: { readonly tensor: TensorRow }): ReactNode {
  const load = useTensors((s) => s.loadStatistics);
  const leave = useTensors((s) => s.leaveStatistics);
  const state = useTensors((s) => s.statistics);
  const fraction = useTensors((s) => s.statisticsFraction);
  const isWhole = useTensors((s) => hasValues(current(s.model)));
  const isSmall = tensor.bytes <= AT_ONCE;
  useEffect(() => {
    if (!isWhole || !isSmall) return undefined;
    const timer = setTimeout(() => void load(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [load, tensor.name, isWhole, isSmall]);
  if (!isWhole) return null;
  if (state.kind === "failed")
    return <ErrorNote title="The values could not be read" error={state.error} onRetry={() => void load()} />;
  const statistics = current(state);
  if (statistics !== null && statistics.tensor === tensor.name) return <Numbers statistics={statistics} />;
  return (
    <Card title="Values" level={2}>
      {state.kind === "loading" || isSmall ? (
        <>
          <Progress sentence="Reading the values" fraction={fraction} />
          {isSmall ? null : (
            <Button small onClick={leave}>
              Cancel
            </Button>
          )}
        </>
      ) : (
        <Button small onClick={() => void load()}>
          Read {bytes(tensor.bytes)}
        </Button>
      )}
    </Card>
  );
}

const optional = (value: number | null): string => (value === null ? "–" : numberText(value));

function Numbers({ statistics: all }: { readonly statistics: TensorStatistics }): ReactNode {
  const bad = all.nans + all.infinities;
  return (
    <>
      {all.findings.length === 0 ? null : (
        <Card title="Health" level={2}>
          <ul className={styles["findings"]}>
            {all.findings.map(({ kind, sentence }, i) => (
              <li key={i}>
                <b>{kind}</b>
                <span>{sentence}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Card title="Values" aside={bad === 0 ? "all are numbers" : undefined} level={2}>
        {all.histogram === null ? null : (
          <Histogram label={`How the values of ${all.tensor} are spread`} {...all.histogram} />
        )}
        <Facts
          rows={[
            ["smallest", numberText(all.min)],
            ["largest", numberText(all.max)],
            ["mean", optional(all.mean)],
            ["deviation", optional(all.std)],
            ["zeros", `${count(all.zeros)} (${fineShare(all.elements === 0 ? 0 : all.zeros / all.elements)})`],
            ...(bad === 0
              ? []
              : ([["not finite", `${count(all.nans)} NaN, ${count(all.infinities)} infinite`]] as const)),
            ...(all.rows > 1 ? ([["rows of zeros", `${count(all.deadRows)} of ${count(all.rows)}`]] as const) : []),
          ]}
        />
      </Card>
      {all.scales.map((spread) => (
        <Scales key={spread.what} spread={spread} />
      ))}
      {all.difference === null ? null : <DifferenceCard file={all.difference.file} difference={all.difference} />}
    </>
  );
}

const SCALE_TITLES = { scale: "Block scales", minimum: "Block minimums" } as const;

function Scales({ spread }: { readonly spread: SpreadView }): ReactNode {
  return (
    <Card title={SCALE_TITLES[spread.what]} aside={count(spread.count)} level={2}>
      {spread.histogram === null ? null : (
        <Histogram label={`How the ${spread.what}s are spread`} {...spread.histogram} />
      )}
      <Facts
        rows={[
          ["mean", optional(spread.mean)],
          ["deviation", optional(spread.std)],
          ["zeros", count(spread.zeros)],
          ...(spread.notFinite === 0 ? [] : ([["not finite", count(spread.notFinite)]] as const)),
        ]}
      />
    </Card>
  );
}
