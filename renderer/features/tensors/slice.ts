/** The numbers in tensors: statistics of the chosen one, the page of its values, the check of the whole file, and how they are listed. */
import type { Input, Output } from "../../../main/contract/contract.ts";
import type { Overview, TensorRow } from "../../../main/contract/views/model.ts";
import type {
  CheckItem,
  FindingView,
  TensorGrouping,
  TensorStatistics,
  ValuesPage,
} from "../../../main/contract/views/tensors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import {
  createQuestions,
  createTask,
  current,
  failed,
  IDLE,
  isCancelled,
  loading,
  ready,
} from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { AgainstSlice } from "./againstSlice.ts";
import type { Corner, PageSize } from "./paging.ts";
import { FIRST, within } from "./paging.ts";

export type CheckReport = Extract<CheckItem, { kind: "done" }>;
export type CheckProgress = Extract<CheckItem, { kind: "progress" }>;

export interface ShownValues extends ValuesPage {
  readonly tensor: string;
  readonly corner: Corner;
}

/** What the colours of the file's picture say. */
export type MapColor = "type" | "error";

export interface TensorsSlice {
  readonly tensorsView: "table" | "values";
  readonly tensorGrouping: TensorGrouping;
  /** Keys of groups whose tensors are not shown. */
  readonly foldedGroups: ReadonlySet<string>;
  /** Whether the picture of the file is seen; null: where there is room for it. */
  readonly mapShown: boolean | null;
  readonly mapColor: MapColor;
  readonly statistics: Async<TensorStatistics>;
  readonly statisticsFraction: number | null;
  readonly valuesCorner: Corner;
  readonly valuesSize: PageSize;
  readonly values: Async<ShownValues>;
  readonly checkRunning: boolean;
  readonly checkSince: number;
  readonly checkProgress: CheckProgress | null;
  /** As they are found. */
  readonly checkFindings: readonly FindingView[];
  readonly checkReport: CheckReport | null;
  readonly checkError: WireError | null;
  readonly checkSaid: string;
  readonly setTensorsView: (view: TensorsSlice["tensorsView"]) => void;
  readonly setTensorGrouping: (grouping: TensorGrouping) => void;
  /** One group, or all of them. */
  readonly foldGroups: (keys: readonly string[], fold: boolean) => void;
  readonly setMapShown: (shown: boolean) => void;
  readonly setMapColor: (color: MapColor) => void;
  /** Shown and forgotten, as pages of the list are. */
  readonly askTensorGroups: (input: Input<"tensors.groups">) => Promise<Output<"tensors.groups">>;
  /** Of the chosen tensor. */
  readonly loadStatistics: () => Promise<void>;
  readonly leaveStatistics: () => void;
  readonly showValues: (corner: Corner, size?: PageSize) => Promise<void>;
  readonly startCheck: () => Promise<void>;
  readonly stopCheck: () => void;
  readonly closeCheck: () => void;
  /** Shows the values at the place of a finding. */
  readonly showFinding: (finding: FindingView) => Promise<void>;
}

const NO_CHECK = {
  checkRunning: false,
  checkProgress: null,
  checkFindings: [],
  checkReport: null,
  checkError: null,
  checkSaid: "",
} as const;
const NO_TENSOR = { statistics: IDLE, statisticsFraction: null, valuesCorner: FIRST, values: IDLE } as const;
export const NO_TENSORS = {
  ...NO_CHECK,
  ...NO_TENSOR,
  tensorsView: "table",
  tensorGrouping: "none",
  foldedGroups: new Set<string>(),
  mapShown: null,
  mapColor: "type",
  checkSince: 0,
  valuesSize: { rows: 16, columns: 8 },
} as const satisfies Partial<TensorsSlice>;

/** A header alone has no values to count, to show or to check. */
export const hasValues = (model: Overview | null): boolean => model?.kind === "model";

const CANCELLED = "Cancelled. What is listed was found before.";
/** Findings that are listed while more are sought. */
const LISTED = 200;

export function createTensorsSlice({
  engine,
  set,
  get,
  on,
  watch,
}: SliceTools<TensorsSlice, SessionState & TensorsSlice & AgainstSlice>): TensorsSlice {
  const counting = createTask();
  const checking = createTask();
  const pages = createQuestions();
  const against = (): string | null => get().againstPath.trim() || null;
  const forget = (): void => {
    counting.abandon();
    pages.drop();
    set(NO_TENSOR);
  };
  /** The row of the table with this name; null where it is not found, and the window says why. */
  const rowOf = async (model: string, tensor: string): Promise<TensorRow | null> => {
    try {
      const { rows } = await engine.call("model.tensors", { model, query: tensor.slice(0, 200), limit: 1000 });
      const row = rows.find(({ name }) => name === tensor);
      if (row === undefined) get().setTensorQuery(tensor);
      return row ?? null;
    } catch (error) {
      get().notifyError("The tensor could not be shown", error);
      return null;
    }
  };
  on("modelLeft", () => {
    checking.abandon();
    forget();
    set({ ...NO_CHECK, tensorsView: "table", foldedGroups: new Set<string>(), mapColor: "type" });
  });
  watch(
    (state) => [state.againstPath],
    () => set({ checkError: null }),
  );
  watch(
    (state) => [state.chosenTensor?.name ?? null],
    () => {
      forget();
      if (get().chosenTensor === null) set({ tensorsView: "table" });
    },
  );

  return {
    ...NO_TENSORS,
    setTensorsView: (tensorsView) => set({ tensorsView }),
    setTensorGrouping: (tensorGrouping) => set({ tensorGrouping, foldedGroups: new Set<string>() }),
    foldGroups: (keys, fold) => {
      const foldedGroups = new Set(get().foldedGroups);
      for (const key of keys)
        if (fold) foldedGroups.add(key);
        else foldedGroups.delete(key);
      set({ foldedGroups });
    },
    setMapShown: (mapShown) => set({ mapShown }),
    setMapColor: (mapColor) => set({ mapColor }),
    askTensorGroups: (input) => engine.call("tensors.groups", input),
    async loadStatistics() {
      const { model, chosenTensor } = get();
      const open = current(model);
      if (open === null || chosenTensor === null) return;
      const { signal, isCurrent } = counting.begin();
      set({ statistics: loading(get().statistics), statisticsFraction: null });
      try {
        const input = { model: open.model, tensor: chosenTensor.name, against: against() };
        for await (const item of engine.stream("tensors.statistics", input, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "done") set({ statistics: ready(item.statistics) });
          else set({ statisticsFraction: item.doneBytes / Math.max(1, item.totalBytes) });
        }
        if (isCurrent() && get().statistics.kind === "loading") set({ statistics: IDLE });
      } catch (error) {
        if (isCurrent()) set({ statistics: isCancelled(error) ? IDLE : failed(error) });
      }
    },
    leaveStatistics: counting.stop,
    async showValues(asked, size = get().valuesSize) {
      const { model, chosenTensor } = get();
      const open = current(model);
      if (open === null || chosenTensor === null) return;
      const corner = within(asked, size, chosenTensor.shape);
      set({ valuesCorner: corner, valuesSize: size });
      const tensor = chosenTensor.name;
      await pages.ask(
        get().values,
        async () => ({
          ...(await engine.call("tensors.values", { model: open.model, tensor, ...corner, ...size })),
          ...{ tensor, corner },
        }),
        (values) => set({ values }),
      );
    },
    async startCheck() {
      const open = current(get().model);
      if (open === null || get().checkRunning) return;
      const { signal, isCurrent } = checking.begin();
      set({ ...NO_CHECK, checkRunning: true, checkSince: Date.now() });
      get().noteCommand({ kind: "check", against: against() });
      try {
        for await (const item of engine.stream(
          "tensors.check",
          { model: open.model, against: against() },
          { signal },
        )) {
          if (!isCurrent()) return;
          if (item.kind === "progress") set({ checkProgress: item });
          else if (item.kind === "done") set({ checkReport: item, checkFindings: item.findings });
          else if (get().checkFindings.length < LISTED) set({ checkFindings: [...get().checkFindings, item.finding] });
        }
        if (isCurrent() && get().checkReport === null) set({ checkSaid: CANCELLED });
      } catch (error) {
        if (!isCurrent()) return;
        if (isCancelled(error)) set({ checkSaid: CANCELLED });
        else set({ checkError: toWireError(error) });
      } finally {
        if (isCurrent()) set({ checkRunning: false, checkProgress: null });
      }
    },
    stopCheck: checking.stop,
    closeCheck: () => set(NO_CHECK),
    async showFinding({ tensor, place }) {
      const open = current(get().model);
      if (open === null) return;
      const row = await rowOf(open.model, tensor);
      if (row === null || current(get().model)?.model !== open.model) return;
      get().chooseTensor(row);
      set({ tensorsView: "values" });
      await get().showValues(
        place === null ? FIRST : { matrix: place.expert ?? 0, row: place.row, column: place.column },
      );
    },
  };
}
