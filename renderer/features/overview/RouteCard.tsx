/** Where it will run, in both phases, for the target that is named. */
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import { ROUTED } from "../../../main/contract/views/graph.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { approximate, count, seconds, share } from "../../ui/format.ts";
import { DeviceChip, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import styles from "./Overview.module.css";

const SHOWN: readonly Device[] = ["ane", "gpu", "cpu", "host"];

export function RouteCard({ wide }: { readonly wide: boolean }): ReactNode {
  const routes = useSession((state) => state.routes);
  const decode = current(routes.decode);
  const prefill = current(routes.prefill);
  // The bar says it all; here the machine is enough.
  const target = useSession((state) => {
    const list = current(state.targets);
    const title = (rows: readonly { readonly id: string; readonly title: string }[] | undefined, id: string): string =>
      rows?.find((row) => row.id === id)?.title ?? id;
    return state.target === null
      ? ""
      : `${title(list?.chips, state.target.chip)}, ${title(list?.oses, state.target.os)}`;
  });
  const error = routes.decode.kind === "failed" ? routes.decode.error : null;
  const aside =
    decode === null ? null : (
      <>
        <TruthMark truth={decode.truth} /> for {decode.backend === ROUTED.backend ? target : decode.targetTitle}
      </>
    );
  return (
    <Card title="Where will it run?" aside={aside} className={cx(styles["reserve"], wide && styles["wide"])}>
      {error !== null ? <ErrorNote title="The route could not be predicted" error={error} /> : null}
      {decode === null ? null : <Shares decode={decode} prefill={prefill} />}
    </Card>
  );
}

function Shares({ decode, prefill }: { readonly decode: RouteView; readonly prefill: RouteView | null }): ReactNode {
  const of = (route: RouteView | null, device: Device) => route?.devices.find((row) => row.device === device);
  // A graph without tokens has one phase: the second column would repeat the first.
  const phase = useSession((state) => state.phase);
  const phases = useSession((state) => !isGraphAlone(current(state.model)?.kind ?? "model"));
  const rows = SHOWN.filter((device) => of(decode, device) !== undefined || of(prefill, device) !== undefined);
  const cell = (route: RouteView | null, device: Device): string => {
    if (route === null) return "…";
    const row = of(route, device);
    return row === undefined ? "–" : `${approximate(seconds(row.seconds.value))}, ${share(row.workShare)}`;
  };
  return (
    <>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>device</th>
            <th>ops</th>
            {phases ? <th>a chunk, prefill</th> : null}
            <th>{phases ? "one token" : "a run"}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((device) => (
            <tr key={device}>
              <td>
                <DeviceChip device={device} />
              </td>
              <td>{count(of(decode, device)?.ops ?? of(prefill, device)?.ops ?? 0)}</td>
              {phases ? <td>{cell(prefill, device)}</td> : null}
              <td>{cell(decode, device)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Note>{(phase === "prefill" ? prefill : decode)?.sentence ?? ""}</Note>
    </>
  );
}
