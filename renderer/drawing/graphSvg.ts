/** A graph as SVG without a window: laid out, coloured and drawn as the window does it. */
import type { GraphView } from "../../main/contract/views/graph.ts";
import { createGraphModel } from "../graph/graphModel.ts";
import type { Changes } from "./changes.ts";
import type { OnePicture } from "./onePicture.ts";
import { onePicture } from "./onePicture.ts";
import { svgOf, wholeFrame } from "./svgPicture.ts";
import { textWidth } from "./textWidth.ts";
import type { Theme } from "./themes.ts";
import { THEMES } from "./themes.ts";

export interface GraphSvgInput extends Pick<OnePicture, "route" | "overlay" | "mode"> {
  readonly view: GraphView;
  readonly theme: Theme;
  /** Every group open, instead of blocks in stacks. */
  readonly expand: boolean;
  readonly changes?: Changes;
}

export function graphSvg({ view, theme, expand, changes, ...shown }: GraphSvgInput): string {
  const open = new Set(expand ? view.groups.parent.keys() : []);
  const model = createGraphModel(view);
  const picture = onePicture({ ...shown, model, open, changes: changes ?? null, selected: -1 });
  return svgOf(picture, wholeFrame(picture, Infinity), THEMES[theme], textWidth);
}
