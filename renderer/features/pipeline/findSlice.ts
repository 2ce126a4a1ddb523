/** The search in all of a program's text: the engine finds the lines, and the page with the next one is shown. */
import type { TextFound } from "../../../main/contract/views/graph.ts";
import { LEGAL, stageOn } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, current, IDLE } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { PipelineSlice } from "./slice.ts";
import { PAGE_LINES } from "./slice.ts";

export interface FindSlice {
  readonly textQuery: string;
  readonly textFound: Async<TextFound>;
  /** Place in the list of found lines of the one that is shown; -1: none yet. */
  readonly foundAt: number;
  readonly setTextQuery: (query: string) => void;
  /** Shows the next line that has it, round the end of the text. */
  readonly nextFound: (step: 1 | -1) => void;
}

const NOTHING = { textFound: IDLE, foundAt: -1 } as const;

export function createFindSlice(tools: SliceTools<FindSlice, SessionState & FindSlice & PipelineSlice>): FindSlice {
  const { engine, set, get, watch } = tools;
  const questions = createQuestions();

  const find = async (): Promise<void> => {
    const { model, target, phase, backend, pipelineView: language, textQuery: query } = get();
    const open = current(model);
    questions.drop();
    set(NOTHING);
    if (open === null || target === null || language === "diff" || query.trim() === "") return;
    const key = { model: open.model, stage: stageOn(backend, LEGAL, target), phase };
    await questions.ask(
      IDLE,
      () => engine.call("text.find", { key, language, target, query }),
      (textFound) => set({ textFound }),
    );
  };
  // Another text has other lines; its page is asked for anew, too.
  watch(
    ({ pipelineView, backend, phase, target, model }) => [pipelineView, backend, phase, target, model],
    () => {
      if (get().textQuery !== "") void find();
    },
  );

  return {
    textQuery: "",
    ...NOTHING,
    setTextQuery(textQuery) {
      set({ textQuery });
      void find();
    },
    nextFound(step) {
      const { textFound, foundAt, pageFrom, page } = get();
      const lines = current(textFound)?.lines ?? [];
      if (lines.length === 0) return;
      const first = current(page)?.firstLine ?? pageFrom;
      // The first one is looked for from the page that is shown.
      const begin = foundAt < 0 ? lines.findIndex((line) => line >= first) : foundAt + step;
      const at = (Math.max(begin, foundAt < 0 ? 0 : begin) + lines.length) % lines.length;
      const line = lines[at] ?? 0;
      set({ foundAt: at });
      if (line < first || line >= first + PAGE_LINES) get().showLines(line - (line % PAGE_LINES));
    },
  };
}

/** The line that the search is on, or null. */
export const foundLine = ({ textFound, foundAt }: Pick<FindSlice, "textFound" | "foundAt">): number | null =>
  current(textFound)?.lines[foundAt] ?? null;
