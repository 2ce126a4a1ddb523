/**
 * The same program on other compute units. Loaded on demand, because each one is a route of its
 * own.
 */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { RouteComparison } from "../../../main/contract/views/route.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { share, THIN } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { relativeText } from "./relative.ts";
import styles from "./Overview.module.css";

const UNITS = ["cpu-ane", "cpu-gpu", "all", "cpu"] as const;

export function CompareCard(): ReactNode {
  const model = useSession((state) => current(state.model)?.model ?? null);
  const target = useSession((state) => state.target);
  const phase = useSession((state) => state.phase);
  const ask = useSession((state) => state.askComparison);
  const setTarget = useSession((state) => state.setTarget);
  const [wanted, setWanted] = useState(false);
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<Async<RouteComparison>>(IDLE);
  useEffect(() => {
    if (!wanted || model === null || target === null) return undefined;
    let live = true;
    setState((before) => loading(before));
    const targets = UNITS.map((units): TargetSpec => ({ ...target, units, profile: "auto" }));
    ask({ model, phase, targets }).then(
      (value) => live && setState(ready(value)),
      (error: unknown) => live && setState(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [wanted, model, target, phase, ask, tries]);
  const rows = current(state)?.rows ?? null;
  const least = Math.min(...(rows ?? []).map(({ seconds }) => seconds.value));
  const basis = `Estimated work of one ${phase === "decode" ? "token" : "chunk"} is the cost that our placement rules count, hops included: it ranks targets and tells no speed.`;
  const packages = rows?.some(({ packageBytes }) => packageBytes !== null) === true;
  const titles = useSession((session) => current(session.targets)?.units ?? null);
  return (
    <Card
      title="And under other compute units?"
      aside={rows === null ? undefined : <TruthMark truth={rows[0]?.truth ?? "predicted"} />}
      className={styles["wide"]}
    >
      {state.kind === "failed" ? (
        <ErrorNote title="The units could not be compared" error={state.error} onRetry={() => setTries((n) => n + 1)} />
      ) : null}
      {!wanted ? (
        <div className={styles["row"]}>
          <Button small onClick={() => setWanted(true)}>
            Compare all four
          </Button>
          <span className={styles["arithmetic"]}>Each with the weights that it needs.</span>
        </div>
      ) : rows === null ? (
        <Progress sentence="Routing for each" fraction={null} />
      ) : (
        <table className={cx(table["table"], table["bleed"])}>
          <thead>
            <tr>
              <th>units</th>
              <th className={table["left"]}>work by device</th>
              <th>segments</th>
              <th>hops</th>
              <th>crossing</th>
              <th title={basis}>estimated work</th>
              {packages ? <th>package</th> : null}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.target.units}>
                <td className={table["text"]}>
                  <button
                    type="button"
                    className={styles["link"]}
                    title={`${row.title}. Make this the target.`}
                    onClick={() => setTarget(row.target)}
                  >
                    {titles?.find(({ id }) => id === row.target.units)?.title ?? row.target.units}
                  </button>
                </td>
                <td className={table["left"]}>
                  {row.devices
                    .map(({ device, workShare }) => `${deviceLook(device).short} ${share(workShare)}`)
                    .join(", ")}
                </td>
                <td>{row.segments}</td>
                <td>{row.hops}</td>
                <td>
                  <FigureText figure={row.bytesPerStep} />
                </td>
                <td title={basis}>{relativeText(row.seconds.value, least)}</td>
                {packages ? (
                  <td>{row.packageBytes === null ? "–" : <FigureText figure={row.packageBytes} />}</td>
                ) : null}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows === null ? null : (
        <Note>
          {basis} The least of the four is 1.0{THIN}×. Chosen here by its name, a row becomes the target of every tab.
        </Note>
      )}
    </Card>
  );
}
