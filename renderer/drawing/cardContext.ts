/** What every card reads; a new object only when something in it changed. */
import type { Device } from "../../main/contract/views/common.ts";
import type { ChangeKind } from "./changes.ts";
import type { Dimmed } from "./dim.ts";
import type { Paint } from "./paint.ts";
import type { Picture } from "./graphModes.ts";

export interface CardContext {
  readonly picture: Picture;
  readonly paint: Paint;
  /** Close enough for shapes and shares. */
  readonly full: boolean;
  readonly selectedBox: number;
  readonly dimmed: Dimmed;
  readonly hits: ReadonlySet<number>;
  /** The words at a card's right: time, bytes, segment. */
  readonly quantity: (box: number) => string;
  /** Why an op is not on the preferred device, or null. */
  readonly warning: (node: number) => string | null;
  /** Where the system plans an op that was predicted elsewhere, or null. */
  readonly planned: (node: number) => Device | null;
  /** What makes a block differ from its siblings, or blocks of a stack from each other, or "". By box. */
  readonly note: (box: number) => string;
  /** How many hops a folded group hides. */
  readonly inside: ReadonlyMap<number, number>;
  readonly changed: ReadonlyMap<number, ChangeKind>;
  readonly close: (group: number) => void;
}
