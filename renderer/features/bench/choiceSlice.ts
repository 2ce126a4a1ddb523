/** Which file of a model to take: the answers of those under "In turn with" against the open one's, then a short benchmark. */
import type { Choice } from "../../../main/contract/choice.ts";
import { choose } from "../../../main/contract/choice.ts";
import type { BenchResult } from "../../../main/contract/views/bench.ts";
import type { QualityResult } from "../../../main/contract/views/quality.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { BenchSlice } from "./slice.ts";

export interface ChosenFile extends Choice {
  /** Tokens that were read. */
  readonly tokens: number;
  /** Where the files beside the open one lie. */
  readonly paths: readonly string[];
}

export interface ChoiceSlice {
  readonly fileChoice: Async<ChosenFile>;
  readonly choiceSays: string;
  readonly choiceText: string;
  readonly setChoiceText: (text: string) => void;
  /** `paths`: the files beside the open one; without, those under "In turn with". */
  readonly startChoice: (paths?: readonly string[]) => Promise<void>;
  readonly stopChoice: () => void;
}

/** Read where nothing else is written. A longer text gives a finer number. */
export const PLAIN_TEXT = `A mill stood at the bend of the river, and the miller knew the water by its sound. In spring it \
came down brown and fast and turned the wheel day and night; in August there was hardly enough to wet the stones. One year a \
young engineer walked up the valley with a roll of maps. She asked him how much grain he ground in a week, and he said that \
it depended. On what? On the rain, he answered, on the harvest, and on whether the farmers had time to come. She wrote three \
numbers into her book, multiplied the first by the second, and divided by the third. "Twenty-one sacks," she said. The miller \
looked at the book for a while. "That is a good number," he said, "for a year that has no weather in it."`;

/** Prompts of 128 and answers of 32 tokens: enough to tell files of one model apart. */
const SPEED = { promptTokens: 128, generateTokens: 32 };

export function createChoiceSlice({ engine, set, get, on }: SliceTools<ChoiceSlice & BenchSlice>): ChoiceSlice {
  const task = createTask();
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ fileChoice: IDLE, choiceSays: "" });
  });
  const say = (choiceSays: string): void => set({ choiceSays });
  const qualityOf = async (model: string, others: string[], signal: AbortSignal): Promise<QualityResult | null> => {
    const { choiceText, benchSettings } = get();
    const source = { kind: "text", text: choiceText.trim() === "" ? PLAIN_TEXT : choiceText } as const;
    const input = { model, others, source, device: benchSettings.device };
    for await (const item of engine.stream("quality.run", input, { signal })) {
      if (item.kind === "done") return item;
      if (item.kind === "progress") say(`Reading with ${item.title}: ${item.done} of ${item.total} tokens`);
    }
    return null;
  };
  const speedOf = async (model: string, others: string[], signal: AbortSignal): Promise<BenchResult | null> => {
    // A machine that is not quiet costs the verdict on speed, not the distances.
    const input = { model, others, device: get().benchSettings.device, conditions: "warn" as const, ...SPEED };
    for await (const item of engine.stream("bench.run", input, { signal })) {
      if (item.kind === "done") return item;
      if (item.kind === "sample") say(`Measuring speed: ${item.done} of ${item.total}`);
    }
    return null;
  };
  return {
    fileChoice: IDLE,
    choiceSays: "",
    choiceText: "",
    setChoiceText: (choiceText) => set({ choiceText }),
    async startChoice(paths = get().benchSettings.otherModels) {
      const { model, fileChoice: before } = get();
      const open = current(model);
      if (open === null || paths.length === 0 || before.kind === "loading") return;
      const { signal, isCurrent } = task.begin();
      set({ fileChoice: loading(before), choiceSays: "Opening the files" });
      const opened: string[] = [];
      try {
        for (const path of paths)
          opened.push((await engine.call("model.open", { source: { kind: "path", path } }, { signal })).model);
        const quality = await qualityOf(open.model, opened, signal);
        const speed = quality === null ? null : await speedOf(open.model, opened, signal);
        if (!isCurrent()) return;
        const { tokens } = quality ?? { tokens: 0 };
        set({ fileChoice: quality === null ? before : ready({ ...choose(quality, speed), tokens, paths }) });
      } catch (error) {
        if (isCurrent()) set({ fileChoice: isCancelled(error) ? before : failed(error) });
      } finally {
        for (const other of opened) void engine.call("model.close", { model: other }).catch(() => undefined);
      }
    },
    stopChoice: task.stop,
  };
}
