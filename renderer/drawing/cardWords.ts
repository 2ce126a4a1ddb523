/**
 * The texts of a card: quantity, note, warning, and the words for a screen reader. Each is made for
 * one picture.
 */
import type { Device } from "../../main/contract/views/common.ts";
import { DEVICES, deviceCode, deviceOf } from "../../main/contract/views/common.ts";
import type { OverlayView } from "../../main/contract/views/graph.ts";
import { ROUTED } from "../../main/contract/views/graph.ts";
import { mlxStateOf } from "../../main/contract/views/mlx.ts";
import type { RouteView } from "../../main/contract/views/route.ts";
import { oddNote, stackNote } from "../graph/fold.ts";
import { groupName, nodeName, opName, pathOf } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { ResultColumn } from "../graph/resultColumns.ts";
import type { Scene } from "../graph/scene.ts";
import { deviceLook } from "../ui/devices.ts";
import { approximate, bytes, fineShare, quantity, seconds, significant } from "../ui/format.ts";
import { stackSize, subtitleOf, titleOf } from "./boxWords.ts";
import type { CardContext } from "./cardContext.ts";
import { boxesOf } from "./dim.ts";
import type { GraphMode, Picture } from "./graphModes.ts";
import type { Paint } from "./paint.ts";
import { segmentText } from "./paint.ts";

export type Column = ArrayLike<number> | null;

/** A relative error, as the report of the export writes it. */
export const errorText = (value: number): string => (value === 0 ? "exact" : value.toExponential(1));

const timeText = (value: number, attributed: boolean): string =>
  value > 0 ? (attributed ? approximate(seconds(value)) : seconds(value)) : "";

/** The types of a group's weights: as many as can be read on a card. */
const typesText = (types: readonly string[]): string =>
  types.length > 2 ? `${types.slice(0, 2).join(", ")} +${types.length - 2}` : types.join(", ");

export function quantities(
  scene: Scene,
  paint: Paint,
  overlay: OverlayView | null,
  result: ResultColumn | null,
  route: RouteView | null,
): CardContext["quantity"] {
  const attributed = result === null ? null : boxesOf(scene, result.attributed, 1);
  return (box) => {
    const value = paint.value[box] ?? 0;
    switch (paint.mode) {
      case "segment":
        return segmentText(paint.segments[box] ?? []);
      case "time":
        return value > 0 ? timeOf(value, overlay?.whole?.value) : "";
      case "bytes":
        return value > 0 ? bytes(value) : "";
      case "flops":
        return value > 0 ? quantity(value, "flops") : "";
      case "measured":
        return timeText(value, attributed?.[box] === 1);
      case "error":
        return Number.isNaN(value) ? "" : errorText(value);
      case "data":
        return Number.isNaN(value) ? "" : significant(value);
      case "mapped":
        return mlxStateOf(value) === "none" ? "" : mlxStateOf(value);
      case "type":
        return typesText((paint.types[box] ?? []).map((type) => overlay?.legend[type] ?? ""));
      case "device":
      case "planned":
        return (paint.work[box] ?? 0) >= 0.0005 ? timeOf(paint.work[box] ?? 0, route?.step.value) : "";
    }
  };
}

/** Of the step's time, where that is predicted; else the share. */
export const timeOf = (share: number, step: number | undefined): string =>
  approximate(step === undefined || step === 0 ? fineShare(share) : seconds(share * step));

/** What a segment's work is said as. */
export const segmentWork = ({ seconds: { value } }: RouteView["segments"][number]): string =>
  approximate(seconds(value));

/** Why an op is not on the preferred device. */
export const warnings =
  (route: RouteView | null): CardContext["warning"] =>
  (node) => {
    if (route?.backend !== ROUTED.backend || !route.target.units.includes("ane")) return null;
    const code = route.nodes.device[node] ?? 0;
    if (code === 0 || code === deviceCode("ane")) return null;
    return route.strings[route.nodes.reason[node] ?? 0] ?? null;
  };

export const plannedElsewhere =
  (mode: GraphMode, predicted: Column, plan: Column): CardContext["planned"] =>
  (node): Device | null => {
    const [ours, theirs] = [predicted?.[node] ?? 0, plan?.[node] ?? 0];
    // The bar is beside the predicted device: in the colours of the plan there is nothing to add.
    return mode !== "device" || theirs === 0 || ours === theirs ? null : deviceOf(theirs);
  };

export const notes =
  ({ model, scene, classes }: Picture, device: Column): CardContext["note"] =>
  (box) => {
    const odd = (group: number): string =>
      oddNote(model, group, classes, device, (code) => deviceLook(deviceOf(code)).short);
    const [first, last] = [scene.ref[box] ?? 0, scene.last[box] ?? 0];
    return scene.kind[box] === BOX_KINDS.stack ? stackNote(model, first, last, classes, odd) : odd(first);
  };

export const descriptions =
  (picture: Picture, paint: Paint) =>
  (box: number): string => {
    const { scene, model } = picture;
    const { view } = model;
    const ref = scene.ref[box] ?? 0;
    const device = DEVICES[paint.device[box] ?? 0] ?? "none";
    const on = device === "none" ? "" : `, on ${deviceLook(device).name}`;
    if (scene.kind[box] !== BOX_KINDS.op) {
      const blocks = scene.kind[box] === BOX_KINDS.stack ? `, ${stackSize(scene, view.groups.parent, box)} blocks` : "";
      return `${titleOf(picture, box)}${blocks}, ${subtitleOf(picture, box)}${on}`;
    }
    const path = pathOf(view, ref).slice(1);
    const where = path.map((group) => groupName(view, group)).join(", ");
    return `${opName(view, ref)} ${nodeName(view, ref)}, ${where}${on}`;
  };
