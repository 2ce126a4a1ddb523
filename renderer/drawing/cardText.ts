/** The words on a card, for the element near by and for the same card drawn on a canvas. */
import { deviceOf } from "../../main/contract/views/common.ts";
import { groupKind, groupName, nodeName, nodeType, opName } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { OpKind } from "../graph/opKinds.ts";
import { kindOfName, OP_KINDS } from "../graph/opKinds.ts";
import type { Scene } from "../graph/scene.ts";
import { deviceLook } from "../ui/devices.ts";
import { stackSize, subtitleOf, titleOf } from "./boxWords.ts";
import type { CardContext } from "./cardContext.ts";

/** Below this a card has one line: the name of an input. */
const SMALL_HEIGHT = 40;

export const isLine = (scene: Scene, box: number): boolean => (scene.h[box] ?? 0) < SMALL_HEIGHT;

export type CardWords = Pick<CardContext, "picture" | "paint" | "quantity" | "note" | "warning">;

export interface CardText {
  readonly name: string;
  /** At the right of the name. */
  readonly right: string;
  readonly under: string;
  /** One line only. */
  readonly small: boolean;
  /** The type of an op's result. */
  readonly type: string;
  /** Why an op is not on the preferred device, or null. */
  readonly warn: string | null;
  /** null: not an op. */
  readonly kind: OpKind | null;
}

export function cardText(words: CardWords, box: number): CardText {
  const { picture, quantity } = words;
  const { scene, model } = picture;
  const ref = scene.ref[box] ?? 0;
  const isOp = scene.kind[box] === BOX_KINDS.op;
  const small = isLine(scene, box);
  const right = scene.kind[box] === BOX_KINDS.stack ? stackWords(words, box) : quantity(box);
  const under = small ? opName(model.view, ref) : subtitleOf(picture, box, isOp ? "" : words.note(box));
  return {
    name: small ? nodeName(model.view, ref) : titleOf(picture, box),
    right: small ? under : right,
    under,
    small,
    type: isOp ? nodeType(model.view, ref) : "",
    warn: isOp ? words.warning(ref) : null,
    kind: boxKind(picture, box),
  };
}

/** Of an op, or of what one op of the model became. */
export function boxKind({ scene, model }: CardWords["picture"], box: number): OpKind | null {
  const ref = scene.ref[box] ?? 0;
  if (scene.kind[box] === BOX_KINDS.op) return OP_KINDS[model.kinds[ref] ?? 0] ?? null;
  return groupKind(model.view, ref) === "op" ? kindOfName(groupName(model.view, ref)) : null;
}

/** "×15" and the sum over the stack; with segments there is room for the count only. */
function stackWords({ picture: { scene, model }, paint, quantity }: CardWords, box: number): string {
  const together = quantity(box);
  if (paint.mode === "segment" && together !== "") return together;
  return `×${stackSize(scene, model.view.groups.parent, box)} ${together}`.trimEnd();
}

/** The tooltip of a box: what it is, what it gives, where it runs, and what its card has no room for. */
export function tipLines(words: CardWords, box: number): readonly string[] {
  const { picture, paint } = words;
  const { scene } = picture;
  const { name, right, under, type, warn, kind, small } = cardText(words, box);
  const device = deviceOf(paint.device[box] ?? 0);
  const isOp = scene.kind[box] === BOX_KINDS.op;
  const runs = device === "none" ? "" : `${isOp ? "on" : "mostly on"} ${deviceLook(device).name}`;
  return [
    name,
    [under, isOp && kind !== under ? kind : null].filter((part) => part !== null && part !== "").join(" · "),
    type,
    [runs, small ? "" : right].filter((part) => part !== "").join(" · "),
    warn ?? "",
  ].filter((line) => line !== "");
}
