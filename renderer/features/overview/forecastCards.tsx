/** Whether the model fits and how fast it runs, both with their arithmetic. */
import type { ReactNode } from "react";
import type { CostView, SpeedView, Verdict, VerdictRow } from "../../../main/contract/views/cost.ts";
import type { Forecast } from "../../../main/contract/views/model.ts";
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { CacheType, Figure, SumRow, Truth } from "../../../main/contract/views/common.ts";
import { cacheType } from "../../../main/contract/views/common.ts";
import { anyCacheTypes, cacheTypeOptions, isPacked, keptElsewhere, OWN } from "../../devices/cacheTypes.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { useDevices } from "../../devices/useDevices.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { count, rangeText, seconds, THIN } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { cx } from "../../ui/cx.ts";
import styles from "./Overview.module.css";
import { chunkRows } from "./prefillVerdict.ts";

/** "2 B" stays on one line. */
const unbroken = (text: string): string => text.replaceAll(/(\d) (?=[A-Z]+\b)/g, `$1${THIN}`);

interface SumRowsProps {
  readonly rows: readonly SumRow[];
  readonly total?: SumRow["value"];
  /** What the rows are the parts of, where that has to be said. */
  readonly of?: string | null;
}

function SumRows({ rows, total, of = null }: SumRowsProps): ReactNode {
  return (
    <table className={cx(table["table"], table["bleed"])}>
      {of === null ? null : <caption className={styles["of"]}>{of}</caption>}
      <tbody>
        {rows.map(({ label, arithmetic, value }) => (
          <tr key={label}>
            <td className={table["text"]}>
              {label}
              {arithmetic === null ? null : <span className={styles["arithmetic"]}>, {unbroken(arithmetic)}</span>}
            </td>
            <td>
              <FigureText figure={value} />
            </td>
          </tr>
        ))}
        {total === undefined ? null : (
          <tr>
            <td className={cx(table["text"], table["total"])}>Together</td>
            <td className={table["total"]}>
              <FigureText figure={total} />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

export interface ForecastsProps {
  /** The target's first, then the other engines: what they hold, before there is a verdict. */
  readonly forecasts: readonly Forecast[];
  /** Of the subject; null while it is worked out, and for files without a graph. */
  readonly own: VerdictRow | null;
  /** A chunk of the prompt, where the window speaks of prefill. */
  readonly chunk: CostView | null;
  readonly measured: MeasuredSpeed | null;
  /** Whether there is anything to measure: a header cannot run. */
  readonly runs: boolean;
  readonly cache: CacheChoice;
}

/** In which numbers keys and values are kept; null: each device's own. */
export interface CacheChoice {
  readonly type: CacheType | null;
  readonly choose: (type: CacheType | null) => void;
  /** With a row for what keeps them so. */
  readonly all: Verdict | null;
}

export function Forecasts({ forecasts, own, chunk, measured, runs, cache }: ForecastsProps): ReactNode {
  const [target] = forecasts;
  const judged = own?.ok === true ? own : null;
  const fit = judged?.fit ?? target?.fit;
  return (
    <>
      {fit === undefined ? null : <FitCard title={judged?.title ?? target?.title ?? ""} fit={fit} cache={cache} />}
      {judged === null || judged.speed.prompt === null ? null : (
        <SpeedCard
          title={judged.title}
          speed={judged.speed}
          prompt={judged.speed.prompt}
          chunk={chunk}
          measured={measured}
          runs={runs}
        />
      )}
    </>
  );
}

function FitCard({ title, fit, cache }: Pick<Forecast, "title" | "fit"> & { readonly cache: CacheChoice }): ReactNode {
  return (
    <Card title="Will it fit?" aside={`${title}, ${fit.machine}`}>
      <SumRows rows={fit.rows} total={fit.total} />
      <div style={{ marginTop: 8 }}>
        <Meter value={fit.total.value / Math.max(1, fit.available.value)} label="Share of the free memory" />
      </div>
      <Note>{fit.sentence}</Note>
      <div className={styles["fields"]}>
        <MemoryField />
        <CacheField cache={cache} />
      </div>
      <CacheNote cache={cache} />
    </Card>
  );
}

function CacheField({ cache: { type, choose } }: { readonly cache: CacheChoice }): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const hasCache = useSession((state) => !isGraphAlone(current(state.model)?.kind ?? "model"));
  const options = cacheTypeOptions(anyCacheTypes(devices ?? []));
  if (!hasCache || options.length === 0) return null;
  return (
    <ChoiceField
      label="Keys and values"
      value={type ?? OWN}
      options={options}
      onChange={(id) => choose(id === OWN ? null : cacheType.parse(id))}
    />
  );
}

/** Where the subject of the window has no such cache: the device that has one, and what it holds then. */
function CacheNote({ cache: { type, all } }: { readonly cache: CacheChoice }): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const backend = useSession((state) => state.backend);
  const title = deviceTitle(devices, backend);
  if (type === null) return null;
  const other = keptElsewhere(devices ?? [], backend, type);
  if (other === undefined)
    return <Note>The memory is that of {type}; speeds are predicted for the device's own type.</Note>;
  const row = all?.rows.find(({ subject }) => subject.backend === other.backend);
  const fit = row?.ok === true ? row.fit : null;
  return (
    <Note>
      {title} keeps keys and values in a type of its own, so its sum stays.{" "}
      {isPacked(type) ? `Only ${other.title} keeps them in ${type}` : `${other.title} keeps them in ${type}`}
      {fit === null ? (
        "."
      ) : (
        <>
          : <FigureText figure={fit.total} /> together there.
        </>
      )}
    </Note>
  );
}

/** As Macs are sold, in GiB. */
const MEMORIES = [8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512];
const AS_SOLD = "sold";

/** The memory of the machine that everything is predicted for. */
function MemoryField(): ReactNode {
  const target = useSession((state) => state.target);
  const setTarget = useSession((state) => state.setTarget);
  if (target === null) return null;
  const { memoryGiB, ...machine } = target;
  return (
    <ChoiceField
      label="Memory of the machine"
      value={memoryGiB === null || memoryGiB === undefined ? AS_SOLD : String(memoryGiB)}
      options={[
        { id: AS_SOLD, title: "as it is" },
        ...MEMORIES.map((size) => ({ id: String(size), title: `${size} GB` })),
      ]}
      onChange={(id) => setTarget(id === AS_SOLD ? machine : { ...machine, memoryGiB: Number(id) })}
    />
  );
}

/** Tokens per second of the open model on this machine. */
export interface MeasuredSpeed {
  /** "Bench 2", "Chat 1". */
  readonly source: string;
  readonly device: string;
  readonly truth: Truth;
  readonly generate: Figure | null;
  readonly prompt: Figure | null;
  /** What speaks against it: "other programs ran"; null where nothing does. */
  readonly caveat: string | null;
}

interface SpeedCardProps extends Pick<ForecastsProps, "chunk" | "measured" | "runs"> {
  readonly title: string;
  readonly speed: SpeedView;
  readonly prompt: Figure;
}

const withoutUnit = (text: string): string => text.replace(/\u202ft\/s$/, "");

function SpeedCard({ title, speed, prompt, chunk, measured, runs }: SpeedCardProps): ReactNode {
  return (
    <Card
      title="How fast?"
      aside={
        <>
          <TruthMark truth={prompt.truth} /> {title}, {speed.machine}
        </>
      }
    >
      <div className={styles["big"]}>
        {speed.generate === null ? null : (
          <div>
            <strong>{withoutUnit(rangeText(speed.generate))}</strong>
            <span>tokens per second, decode</span>
          </div>
        )}
        <div>
          <strong>{rangeText(prompt)}</strong>
          <span>prefill of {count(speed.promptTokens)} tokens</span>
        </div>
      </div>
      {measured === null ? null : <Measured measured={measured} promptTokens={speed.promptTokens} />}
      {chunk === null ? null : (
        <SumRows rows={chunkRows(chunk)} total={chunk.step} of={`A chunk of ${count(chunk.tokens)} tokens, prefill`} />
      )}
      <SumRows rows={speed.rows} total={speed.token} of={chunk === null ? null : "One token, decode"} />
      <SumRows rows={speed.promptRows} />
      <Note>
        {speed.sentence}
        {runs && measured === null ? " Run it once, and the measured speed appears here." : ""}
      </Note>
    </Card>
  );
}

/** In the units of the forecast above it. The machines may be two: the forecast's is named in the card's head. */
function Measured({
  measured: { source, device, truth, generate, prompt, caveat },
  promptTokens,
}: {
  readonly measured: MeasuredSpeed;
  readonly promptTokens: number;
}): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const rate = (figure: Figure): ReactNode => <FigureText figure={figure} />;
  return (
    <div className={styles["measured"]}>
      <p>
        <TruthMark truth={truth} /> on {deviceTitle(devices, device)} of this machine, {source}
        {caveat === null ? "" : ` (${caveat})`}
      </p>
      <dl>
        <div>
          <dt>decode</dt>
          <dd>{generate === null ? "–" : rate(generate)}</dd>
        </div>
        <div>
          <dt>prefill</dt>
          <dd>
            {prompt === null ? (
              "–"
            ) : (
              <>
                {rate(prompt)}, {seconds(promptTokens / prompt.value)} for {count(promptTokens)} tokens
              </>
            )}
          </dd>
        </div>
      </dl>
    </div>
  );
}
