/** The graph out of the window and numbers into it: pictures, and node data as JSON. */
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { nodeDataText } from "../../../main/contract/nodeData.ts";
import { parseNodeData } from "../../graph/nodeData.ts";
import type { SliceTools } from "../../session/slice.ts";
import { saveBlob, saveText } from "../../ui/saveText.ts";
import { readColors } from "../../canvas/readColors.ts";
import type { GraphPicture } from "../../drawing/graphPicture.ts";
import { createGraphPicture } from "../../drawing/graphPicture.ts";
import type { GraphSlice } from "./graphState.ts";
import { measureOnCanvas, PNG_SIDE, pngOf } from "./savePicture.ts";
import { svgOf, wholeFrame } from "../../drawing/svgPicture.ts";

type FileActions = Pick<GraphSlice, "makePicture" | "savePicture" | "saveNodeData" | "openNodeData" | "dropNodeData">;

/** More is no file of numbers that someone wrote. */
const MOST_BYTES = 64e6;
/** A vector picture has no pixels that run out. */
const NO_LIMIT = Infinity;

export function fileActions({ set, get }: SliceTools<GraphSlice>): FileActions {
  const select = createGraphPicture();
  const shown = (): GraphPicture => {
    const picture = select(get());
    if (picture === null)
      throw new WorkbenchError("INPUT_ARGUMENT", "[graph] save: got no graph, expected one that is shown", {
        hint: "Wait until the graph is there.",
      });
    return picture;
  };
  return {
    async makePicture(format, extent) {
      try {
        const picture = shown();
        const colors = readColors(document.documentElement);
        const now = extent === "shown" ? get().viewNow?.() : undefined;
        const frame = now ?? wholeFrame(picture, format === "png" ? PNG_SIDE : NO_LIMIT);
        const blob =
          format === "svg"
            ? new Blob([svgOf(picture, frame, colors, measureOnCanvas())], { type: "image/svg+xml" })
            : await pngOf(picture, frame, colors);
        return { name: `${fileName(picture)}.${format}`, blob };
      } catch (error) {
        get().notifyError("The picture could not be made", error);
        return null;
      }
    },
    async savePicture(format, extent) {
      const made = await get().makePicture(format, extent);
      if (made !== null) saveBlob(made.name, made.blob);
    },
    saveNodeData() {
      try {
        const picture = shown();
        const { model } = picture.picture;
        const values = picture.values ?? picture.route?.nodes.work;
        if (values === undefined)
          throw new WorkbenchError(
            "INPUT_ARGUMENT",
            "[node data] save: got no numbers, expected a mode that has some",
            {
              hint: "Choose Time or Bytes, or a stage with a route.",
            },
          );
        saveText(`${fileName(picture)}-data.json`, nodeDataText(model.view, values), "application/json");
      } catch (error) {
        get().notifyError("The node data could not be saved", error);
      }
    },
    async openNodeData(file) {
      try {
        if (file.size > MOST_BYTES)
          throw new WorkbenchError(
            "INPUT_ARGUMENT",
            `[node data] ${file.name}: got ${file.size} bytes, expected at most ${MOST_BYTES}`,
          );
        set({ nodeData: parseNodeData(file.name, await file.text()) });
        get().setGraphMode("data");
      } catch (error) {
        get().notifyError("The node data could not be read", error);
      }
    },
    dropNodeData() {
      set({ nodeData: null });
      if (get().graphMode === "data") get().setGraphMode("device");
    },
  };
}

/** The model's title as a name for files on every system. */
const fileName = ({ picture }: GraphPicture): string =>
  `${picture.model.view.title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "graph"}-graph`;
