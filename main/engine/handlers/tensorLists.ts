/** The list of a file's tensors and its groups, with what a subject holds of them; and the comparison with another file. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import { holdsWords, tensorWords } from "../../contract/tensorQuery.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Measure } from "../../ir/measure.ts";
import type { Comparison } from "../../statistics/compare.ts";
import { compareFiles } from "../../statistics/compare.ts";
import { counted } from "../../statistics/findings.ts";
import { figure } from "../measure/forecast.ts";
import { errorsAgainst, keepComparison } from "../models/comparisons.ts";
import type { HeldRequest } from "../models/heldWeights.ts";
import { heldWeights } from "../models/heldWeights.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { settledStream } from "../progressStream.ts";
import type { ListContext } from "../views/tensorList.ts";
import { tensorGroups, tensorPage } from "../views/tensorList.ts";
import { bounded, differenceView, throttled } from "./tensorNumbers.ts";
import { stopwatch } from "./writing.ts";

interface Listed {
  readonly held: HeldRequest | null;
  readonly against: string | null;
}

export function tensorListHandlers(
  store: ModelStore,
): Pick<EngineHandlers["calls"], "model.tensors" | "tensors.groups"> {
  const contextOf = async (model: OpenModel, { held, against }: Listed, signal: AbortSignal): Promise<ListContext> => ({
    errors: errorsAgainst(model, against),
    held: held === null ? undefined : await heldWeights(model, held, signal),
  });
  return {
    "model.tensors": async ({ model: id, held, against, ...options }, { signal }) => {
      const model = store.get(id);
      const file = model.requireFile("tensors");
      return tensorPage(file, { ...options, ...(await contextOf(model, { held, against }, signal)) });
    },
    "tensors.groups": async ({ model: id, held, against, ...options }, { signal }) => {
      const model = store.get(id);
      const file = model.requireFile("tensors");
      return tensorGroups(file, { ...options, ...(await contextOf(model, { held, against }, signal)) });
    },
  };
}

type CompareItem = StreamItemOf<"tensors.compare">;

export interface CompareRequest {
  readonly model: OpenModel;
  readonly other: GgufFile;
  /** Where the other file was opened. */
  readonly path: string;
  readonly query: string;
  readonly measure: Measure;
  readonly signal: AbortSignal;
  readonly update: (fraction: number) => void;
}

/** What of a million tensors is named. */
const MOST_NAMES = 1000;

export async function* comparedFiles(request: CompareRequest): AsyncGenerator<CompareItem> {
  const { model, other, path, query, measure, signal, update } = request;
  const file = model.requireFile("compare");
  const words = tensorWords(query);
  const seconds = stopwatch();
  const isDue = throttled(seconds);
  const made = yield* settledStream<CompareItem, Comparison>((emit) =>
    compareFiles(file, other, {
      ...{ measure, signal },
      only: ({ name, type, shape }) => holdsWords(words, { name, type: type.name, shape }),
      onProgress: (progress) => {
        if (!isDue()) return;
        update(progress.doneBytes / Math.max(1, progress.totalBytes));
        emit({ kind: "progress", ...progress, elapsedSeconds: seconds() });
      },
    }),
  );
  keepComparison(model, path, made.rows);
  const { rows, moreRows, left, onlyThere, sum } = made;
  yield {
    kind: "done",
    file: other.name,
    sentence: sentenceOf(made, other.name),
    rows: rows.map(({ tensor, type, theirs, ...difference }) => ({
      ...{ tensor, type: type.toUpperCase(), theirs: theirs.toUpperCase() },
      ...differenceView(difference),
    })),
    moreRows,
    left: left.slice(0, MOST_NAMES),
    moreLeft: Math.max(0, left.length - MOST_NAMES),
    onlyThere: onlyThere.slice(0, MOST_NAMES),
    moreOnlyThere: Math.max(0, onlyThere.length - MOST_NAMES),
    sum: {
      ...{ tensors: sum.tensors, values: sum.values },
      ...{ rmse: bounded(sum.rmse), relative: bounded(sum.relative), decibels: bounded(sum.decibels) },
    },
    seconds: figure(seconds(), "seconds", "measured", "this comparison, once"),
  };
}

/** "46 tensors, 3.1 % away from model-f16.gguf over all (30.2 dB). 2 cannot be compared." */
function sentenceOf({ sum, left, onlyThere, rows }: Comparison, other: string): string {
  const said =
    sum.relative === 0
      ? `${counted(sum.tensors, "tensor")}, and no value differs from ${other}.`
      : `${counted(sum.tensors, "tensor")}: ${errorText(sum.relative, sum.decibels)} from ${other} over all.`;
  const exact = rows.filter(({ relative }) => relative === 0).length;
  const same = sum.relative !== 0 && exact > 0 ? ` ${exact} of them ${exact === 1 ? "is" : "are"} the same.` : "";
  const not = left.length === 0 ? "" : ` ${counted(left.length, "tensor")} cannot be compared.`;
  const there = onlyThere.length === 0 ? "" : ` ${counted(onlyThere.length, "tensor")} only there.`;
  return said + same + not + there;
}

const errorText = (relative: number, decibels: number): string =>
  Number.isFinite(relative)
    ? `${Number((100 * relative).toPrecision(3))} % (${decibels.toFixed(1)} dB) away`
    : "beyond all numbers away";
