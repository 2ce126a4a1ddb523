/** `rlx graph --svg`: the picture that the window saves, made without a browser. */
import type { Input } from "../../contract/contract.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { OverlayView } from "../../contract/views/graph.ts";
import { isRouted, OVERLAYS } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { createGraphModel } from "../../../renderer/graph/graphModel.ts";
import { graphSvg } from "../../../renderer/drawing/graphSvg.ts";
import { mergedChanges } from "../../../renderer/drawing/mergedChanges.ts";
import type { Theme } from "../../../renderer/drawing/themes.ts";
import type { Command } from "./client.ts";
import { orList } from "./client.ts";
import { writeNewText } from "./newText.ts";

interface SvgOptions {
  readonly svg: string;
  readonly by?: string;
  readonly theme?: string;
  readonly expand?: boolean;
}

const NAMES = ["light", "dark"] as const satisfies readonly Theme[];

export async function writeGraphSvg(
  { client, output, signal }: Command,
  { key, target }: { readonly key: Input<"graph.get">; readonly target: TargetSpec },
  { svg: path, by = "device", theme: named = "light", expand = false }: SvgOptions,
): Promise<void> {
  const mode = OVERLAYS.find((each) => each === by);
  if (mode === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --by: got ${by}, expected ${orList(OVERLAYS)}`);
  const theme = NAMES.find((each) => each === named);
  if (theme === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --theme: got ${named}, expected ${orList(NAMES)}`);
  const view = await client.call("graph.get", key, { signal });
  const { stage, model, phase } = key;
  const route = isRouted(stage)
    ? await client.call("route.get", { model, backend: stage.backend, target, phase }, { signal })
    : null;
  // A route has the devices and segments already.
  const isPlaced = route !== null && (mode === "device" || mode === "segment");
  const overlay: OverlayView | null = isPlaced
    ? null
    : await client.call("graph.overlay", { key, kind: mode, target }, { signal });
  const text = graphSvg({ view, route, overlay, mode, theme, expand });
  await writeNewText("--svg", path, text);
  output.value({ path, by: mode, theme, bytes: Buffer.byteLength(text) });
  output.line(`The graph by ${mode}, written to ${path}`);
}

/** `rlx diff --svg`: both graphs in one picture, with what was added, removed and changed. */
export async function writeMergedSvg(
  { client, output, signal }: Command,
  asked: Input<"compare.graph">,
  path: string,
): Promise<void> {
  const merged = await client.call("compare.graph", asked, { signal });
  if (merged === null)
    throw new WorkbenchError("UNSUPPORTED_ARCHITECTURE", "[rlx] --svg: got a side without a graph, expected two", {
      hint: "Compare without --svg: keys and tensors are told of any file.",
    });
  const { view } = merged;
  const changes = mergedChanges(createGraphModel(view), merged);
  const shown = { route: null, overlay: null, mode: "type", theme: "light", expand: false } as const;
  await writeNewText("--svg", path, graphSvg({ ...shown, view, changes }));
  const { added, removed, changed } = changes.counts;
  output.note(`Both graphs in one, +${added} −${removed} ~${changed}, in ${path}`);
}
