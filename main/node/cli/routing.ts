/** The share of each device in the predicted time, as the window's overview shows it: a part of `rlx inspect`. */
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Overview } from "../../contract/views/model.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import type { DeviceShare, RouteView } from "../../contract/views/route.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command } from "./client.ts";

interface Prediction {
  readonly target: TargetSpec;
  readonly targetTitle: string;
  readonly truth: RouteView["truth"];
  readonly phases: readonly {
    readonly phase: Phase;
    readonly devices: readonly DeviceShare[];
    readonly sentence: string;
  }[];
}

interface Routing {
  readonly routing: Prediction | null;
  readonly whyNoRouting: string | null;
}

/** The routing, or why there is none. The rest of the overview is printed in both cases. */
export async function routingOf(command: Command, view: Overview): Promise<Routing> {
  if (!view.canGraph.ok) return { routing: null, whyNoRouting: view.canGraph.sentence };
  try {
    return { routing: await predicted(command, view), whyNoRouting: null };
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_")) throw error;
    return { routing: null, whyNoRouting: error.message };
  }
}

async function predicted({ client, output, signal }: Command, view: Overview): Promise<Prediction> {
  const { model, target } = view;
  const routeOf = (phase: Phase): Promise<RouteView> => {
    output.progress(isGraphAlone(view.kind) ? "Predicting where it runs" : `Predicting where it runs, ${phase}`);
    return client.call("route.get", { model, backend: "coreml", target, phase }, { signal });
  };
  const decode = await routeOf("decode");
  // A graph without tokens has one phase.
  const routes = isGraphAlone(view.kind) ? [decode] : [decode, await routeOf("prefill")];
  return {
    target: decode.target,
    targetTitle: decode.targetTitle.replace(` · ${decode.phase}`, ""),
    truth: decode.truth,
    phases: routes.map(({ phase, devices, sentence }) => ({ phase, devices, sentence })),
  };
}

export function printRouting({ output }: Command, { routing, whyNoRouting }: Routing): void {
  output.line();
  if (routing === null) {
    output.line(`Where will it run? Not predicted: ${whyNoRouting ?? ""}`);
    return;
  }
  const [decode, prefill] = routing.phases;
  output.line(`Where will it run? (${routing.targetTitle}, ${routing.truth})`);
  const of = (part: typeof decode, device: string): DeviceShare | undefined =>
    part?.devices.find((row) => row.device === device);
  const devices = new Set(routing.phases.flatMap((part) => part.devices.map(({ device }) => device)));
  const rows = [...devices].map((device) => [
    device.toUpperCase(),
    String(of(decode, device)?.ops ?? of(prefill, device)?.ops ?? 0),
    prefill === undefined ? "" : shareText(of(prefill, device)),
    shareText(of(decode, device)),
  ]);
  output.table(["device", "ops", "time, prefill", prefill ? "time, decode" : "time"], rows, { right: [1, 2, 3] });
  if (decode !== undefined) output.line(decode.sentence);
}

const shareText = (row: DeviceShare | undefined): string =>
  row === undefined ? "–" : `${(row.workShare * 100).toFixed(1)} %`;
