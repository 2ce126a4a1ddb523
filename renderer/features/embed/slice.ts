/** Texts as vectors, how alike they are, and documents sorted by a query: what was typed, and the last answer of each. */
import type { Embedded, EmbedItem, Reranked, RerankItem } from "../../../main/contract/views/embed.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { createTask, current, isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

/** One text in each line. */
export interface EmbedFields {
  readonly device: RunDevice;
  readonly texts: string;
  readonly query: string;
  readonly documents: string;
}

export type EmbedAnswer =
  | { readonly kind: "vectors"; readonly texts: readonly string[]; readonly done: Embedded }
  | { readonly kind: "ranks"; readonly query: string; readonly documents: readonly string[]; readonly done: Reranked };

export type EmbedTask = EmbedAnswer["kind"];

export interface EmbedSlice {
  readonly embedFields: EmbedFields;
  readonly embedRunning: {
    readonly task: EmbedTask;
    readonly sentence: string;
    readonly fraction: number | null;
    readonly since: number;
  } | null;
  /** The last of each kind. */
  readonly embedVectors: Extract<EmbedAnswer, { kind: "vectors" }> | null;
  readonly embedRanks: Extract<EmbedAnswer, { kind: "ranks" }> | null;
  readonly embedError: { readonly task: EmbedTask; readonly error: WireError } | null;
  readonly setEmbed: (part: Partial<EmbedFields>) => void;
  readonly startEmbed: (task: EmbedTask) => Promise<void>;
  readonly stopEmbed: () => void;
}

export const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line.trim() !== "");

const EXAMPLES: Omit<EmbedFields, "device"> = {
  texts: "A cat sleeps in the sun.\nThe kitten naps on a warm stone.\nThe train to the coast leaves at noon.",
  query: "Where do cats sleep?",
  documents: "Cats like warm places.\nTrains run on rails.\nA dog barks at night.",
};

const NOTHING = { embedRunning: null, embedVectors: null, embedRanks: null, embedError: null } as const;

export function createEmbedSlice({ engine, set, get, on }: SliceTools<EmbedSlice>): EmbedSlice {
  const work = createTask();
  on("runnerChanged", (device) => set({ embedFields: { ...get().embedFields, device } }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    work.abandon();
    set(NOTHING);
  });
  /** How far the work is. */
  const say = (item: Exclude<EmbedItem | RerankItem, { readonly kind: "done" }>): void => {
    const { embedRunning } = get();
    if (embedRunning === null || item.kind === "start") return;
    const { sentence, fraction } =
      item.kind === "phase"
        ? item
        : { sentence: `${item.done} of ${item.total} texts`, fraction: item.done / item.total };
    set({ embedRunning: { ...embedRunning, sentence, fraction } });
  };

  async function vectors(model: string, signal: AbortSignal, isCurrent: () => boolean): Promise<void> {
    const { texts: typed, device } = get().embedFields;
    const texts = linesOf(typed);
    const pooling = current(get().model)?.embedder?.pooling;
    const input = { model, texts: [...texts], device, similarity: pooling !== "rank" && pooling !== "none" };
    for await (const item of engine.stream("embed.run", input, { signal })) {
      if (!isCurrent()) return;
      if (item.kind === "done") set({ embedVectors: { kind: "vectors", texts, done: item } });
      else say(item);
    }
  }

  async function ranks(model: string, signal: AbortSignal, isCurrent: () => boolean): Promise<void> {
    const { query, documents: typed, device } = get().embedFields;
    const documents = linesOf(typed);
    const input = { model, query, documents: [...documents], device };
    for await (const item of engine.stream("rerank.run", input, { signal })) {
      if (!isCurrent()) return;
      if (item.kind === "done") set({ embedRanks: { kind: "ranks", query, documents, done: item } });
      else say(item);
    }
  }

  return {
    embedFields: { device: DEFAULT_DEVICE, ...EXAMPLES },
    ...NOTHING,
    setEmbed: (part) => set({ embedFields: { ...get().embedFields, ...part } }),
    async startEmbed(task) {
      const open = current(get().model);
      if (open === null || get().embedRunning !== null) return;
      const { signal, isCurrent } = work.begin();
      set({ embedRunning: { task, sentence: "Getting ready", fraction: null, since: Date.now() }, embedError: null });
      try {
        await (task === "vectors" ? vectors : ranks)(open.model, signal, isCurrent);
      } catch (error) {
        if (!isCancelled(error) && isCurrent()) set({ embedError: { task, error: toWireError(error) } });
      } finally {
        if (isCurrent()) set({ embedRunning: null });
      }
    },
    stopEmbed: work.stop,
  };
}
