/** What the first screen offers besides files: the sample model, header-only models, the demo graph. */
import type { Offer } from "../../contract/views/engine.ts";
import { DEMO_OFFER as DEMO } from "../../contract/views/engine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { HeaderOnlyShape } from "../../models/headerOnly.ts";
import { DEEP, headerOnlyModel, LLAMA_1B } from "../../models/headerOnly.ts";
import type { ModelFiles } from "../services.ts";
import type { ModelInit } from "./openModel.ts";

export const SAMPLE = "sample";
const HEADER_ONLY: Readonly<
  Record<string, { readonly shape: HeaderOnlyShape; readonly flag: string; readonly sentence: string }>
> = {
  "header-only-1b": {
    shape: LLAMA_1B,
    flag: "--header-only",
    sentence: "Real names and shapes of a 1B model, without its data: graph, routing and package plan work at once.",
  },
  "header-only-400": {
    shape: DEEP,
    flag: "--deep",
    sentence: "A narrow model of 400 blocks and more than 10\u202f000 operations, to see how the graph holds up.",
  },
};

export interface Offers {
  list(): readonly Offer[];
  open(id: string, openPath: (path: string, argument: string) => Promise<ModelInit>): Promise<ModelInit>;
}

export function createOffers({ sample: samplePath }: Pick<ModelFiles, "sample">): Offers {
  return {
    list() {
      const sample = samplePath();
      const offers: Offer[] =
        sample === undefined
          ? []
          : [
              {
                id: SAMPLE,
                kind: "sample",
                title: "The sample model",
                sentence: "A small Qwen3 that tells short stories and does small sums. It answers at once.",
                bytes: sample.bytes,
              },
            ];
      for (const [id, { shape, sentence }] of Object.entries(HEADER_ONLY))
        offers.push({ id, kind: "header-only", title: shape.title, sentence, bytes: 0 });
      offers.push({
        id: DEMO,
        kind: "demo-graph",
        title: "A graph with host segments",
        sentence:
          "Linear layers with a Fourier transform, an LSTM and a custom function between them: routing and hybrid cuts at a glance.",
        bytes: 0,
      });
      return offers;
    },
    async open(id, openPath) {
      if (id === SAMPLE) {
        const sample = samplePath();
        if (sample === undefined)
          throw new WorkbenchError("INPUT_NOT_FOUND", "[sample] the sample model is not part of this installation", {
            hint: "Open a .gguf file of your own.",
          });
        return { ...(await openPath(sample.path, "--sample")), offer: SAMPLE };
      }
      const started = performance.now();
      const header = Object.hasOwn(HEADER_ONLY, id) ? HEADER_ONLY[id] : undefined;
      if (header) {
        const file = await headerOnlyModel(header.shape);
        return {
          kind: "header-only",
          file,
          data: { kind: "none" },
          offer: id,
          argument: header.flag,
          openedInSeconds: (performance.now() - started) / 1000,
        };
      }
      if (id === DEMO)
        return {
          kind: "demo-graph",
          file: undefined,
          data: { kind: "none" },
          offer: DEMO,
          argument: "--demo",
          openedInSeconds: 0,
        };
      throw new WorkbenchError("INPUT_ARGUMENT", `[engine] there is no offer ${JSON.stringify(id)}`);
    },
  };
}
