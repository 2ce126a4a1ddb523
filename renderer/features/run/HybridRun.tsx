/** A demo graph, run once through its segments: times and bytes of each, the outputs, and how they agree with the reference. */
import type { ReactNode } from "react";
import type { DeviceInfo } from "../../../main/contract/views/engine.ts";
import type { HybridView } from "../../../main/contract/views/run.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes, significant } from "../../ui/format.ts";
import { DeviceChip, FigureText, TruthMark } from "../../ui/marks.tsx";
import { sparklinePath } from "../../ui/Sparkline.tsx";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

/** The chosen device, or the first that runs segments. */
const hybridOn = (devices: readonly DeviceInfo[], chosen: string | null): DeviceInfo | undefined =>
  devices.find(({ id, capabilities }) => (chosen === null ? capabilities.segments === true : id === chosen));

export function HybridRun(): ReactNode {
  const state = useRun((s) => s.hybrid);
  const run = useRun((s) => s.runHybrid);
  const stop = useRun((s) => s.stopHybrid);
  const chosen = useRun((s) => s.hybridDevice);
  const device = useRun((s) => hybridOn(current(s.info)?.devices ?? [], s.hybridDevice));
  const setDevice = useRun((s) => s.setHybridDevice);
  const view = current(state);
  return (
    <div className={styles["hybrid"]}>
      <div className={styles["hybridHead"]}>
        <div>
          <h2>One run through the segments</h2>
          <p>
            Core ML segments run on {device?.title ?? "the device that is chosen"}; host segments run in our own code.
            {device === undefined ? null : ` ${device.sentence}`}
          </p>
        </div>
        <DevicePicker
          label="Core ML segments on"
          lead="Core ML segments on"
          value={device?.id ?? chosen ?? ""}
          needs="segments"
          disabled={state.kind === "loading"}
          onChange={setDevice}
        />
        {state.kind === "loading" ? (
          <Button look="primary" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button look="primary" onClick={() => void run()}>
            {view === null ? "Run it" : "Run it again"}
          </Button>
        )}
      </div>
      {state.kind === "loading" ? <Progress sentence="Compiling and running the segments" fraction={null} /> : null}
      {state.kind === "failed" ? (
        <ErrorNote title="The run failed" error={state.error} onRetry={() => void run()} />
      ) : null}
      {view === null ? null : <Results view={view} />}
    </div>
  );
}

function Results({ view }: { readonly view: HybridView }): ReactNode {
  return (
    <>
      <Card title="Segments" aside={<TruthMark truth={view.truth} />}>
        <table className={cx(table["table"], table["bleed"])}>
          <thead>
            <tr>
              <th>segment</th>
              <th className={table["left"]}>device</th>
              <th>bytes in</th>
              <th>bytes out</th>
              <th>time</th>
            </tr>
          </thead>
          <tbody>
            {view.segments.map((segment) => (
              <tr key={segment.index}>
                <td className={table["text"]}>
                  {segment.index + 1} {segment.title}
                </td>
                <td className={table["left"]}>
                  <DeviceChip device={segment.device} />
                </td>
                <td>{bytes(segment.bytesIn)}</td>
                <td>{bytes(segment.bytesOut)}</td>
                <td>
                  {segment.seconds.truth === "simulated" ? (
                    <span title="The simulator's own time says nothing of a device.">–</span>
                  ) : (
                    <FigureText figure={segment.seconds} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <Note>{view.sentence}</Note>
      </Card>
      <Card title="Does it agree?" aside={view.agreement.against}>
        <p>{view.agreement.sentence}</p>
      </Card>
      {view.outputs.map((output) => (
        <Card key={output.name} title={output.name} aside={output.type}>
          <svg
            className={styles["plot"]}
            viewBox="0 0 600 90"
            preserveAspectRatio="none"
            role="img"
            aria-label={`Values of ${output.name}`}
          >
            <path
              d={sparklinePath([...output.values], 600, 88)}
              fill="none"
              stroke="var(--ink-2)"
              strokeWidth="1.2"
              vectorEffect="non-scaling-stroke"
            />
          </svg>
          <Note>
            least {significant(output.min)}, mean {significant(output.mean)}, most {significant(output.max)}
          </Note>
        </Card>
      ))}
    </>
  );
}
