/**
 * Columns: one question, several models and devices, the same seed. Each column goes on from its own answers to the questions
 * before, by the chat template of its own model.
 */
import type { Overview } from "../../../main/contract/views/model.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { TaskRun } from "../../session/async.ts";
import { createTask, current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { Attachment } from "./attachments.ts";
import type { Column, ColumnChoice, ColumnOrder, ColumnTurn } from "./columns.ts";
import { columnHistory, MOST_COLUMNS } from "./columns.ts";
import { receiveAnswer } from "./receive.ts";
import { EMPTY_ANSWER, runRequest } from "./request.ts";
import type { RunState } from "./slice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";

export interface ColumnsSlice {
  /** What answers beside the first column; empty: it answers alone. */
  readonly beside: readonly ColumnChoice[];
  readonly columnOrder: ColumnOrder;
  readonly columnTurns: readonly ColumnTurn[];
  readonly setBeside: (beside: readonly ColumnChoice[]) => void;
  readonly setColumnOrder: (order: ColumnOrder) => void;
  readonly askColumns: (prompt: string, attachments: readonly Attachment[]) => Promise<void>;
  readonly stopColumns: () => void;
  readonly showColumnTurns: (turns: readonly ColumnTurn[]) => void;
  readonly removeColumnTurn: (id: number) => void;
}

export function createColumnsSlice({ engine, set, get, on }: SliceTools<ColumnsSlice, RunState>): ColumnsSlice {
  const task = createTask();
  /** Further models that are open, by their paths. */
  const opened = new Map<string, Promise<Overview>>();
  const closeOthers = (keep: readonly ColumnChoice[]): void => {
    for (const [path, opening] of opened) {
      if (keep.some(({ model }) => model?.path === path)) continue;
      opened.delete(path);
      opening.then(({ model }) => engine.call("model.close", { model })).catch(() => undefined);
    }
  };
  on("modelLeft", ({ opensAgain }) => {
    // The handles of a lost engine are gone with it.
    closeOthers([]);
    if (opensAgain) return;
    task.abandon();
    set({ columnTurns: [], beside: [] });
  });

  const openOther = (path: string): Promise<Overview> => {
    const before = opened.get(path);
    if (before !== undefined) return before;
    const opening = engine.call("model.open", { source: { kind: "path", path } });
    opened.set(path, opening);
    // Asked for again, it is tried again.
    opening.catch(() => opened.delete(path));
    return opening;
  };

  const patchColumn = (turn: number, id: number, part: (column: Column) => Partial<Column>): void =>
    get().patchColumnTurn(turn, (each) => ({
      ...each,
      columns: each.columns.map((column) => (column.id === id ? { ...column, ...part(column) } : column)),
    }));

  /** One of the answers, from the request to the history. */
  const answerIn = async (
    turn: ColumnTurn,
    { id, model: other }: Column,
    open: Overview,
    run: TaskRun,
  ): Promise<void> => {
    const { mode, prompt, attachments, seed } = turn;
    const { signal, isCurrent } = run;
    const patch = (part: (column: Column) => Partial<Column>): void => patchColumn(turn.id, id, part);
    const column = turn.columns.find((each) => each.id === id);
    if (column === undefined) return;
    const before = get().columnTurns.filter((each) => each.id < turn.id);
    let { parameters } = column;
    let messages: Parameters<RunState["keepRun"]>[1]["messages"] = [];
    patch(() => ({ state: "running", sentence: other === null ? "Starting" : `Opening ${other.title}` }));
    try {
      const overview = other === null ? open : await openOther(other.path);
      if (other !== null) {
        // As long as this model allows; its own context where none was asked for.
        const asked = askedParameters({ ...get().parameters, seed }, overview);
        const context = Math.min(asked.context, overview.context.trained ?? asked.context);
        parameters = { ...parameters, context, maxTokens: Math.min(parameters.maxTokens, context) };
        patch(() => ({ parameters }));
      }
      get().noteCommand(runCommand(mode, prompt, parameters), other === null ? undefined : overview.argument);
      const input = runRequest(
        overview.model,
        mode,
        columnHistory(before, column),
        { prompt, attachments, results: [] },
        parameters,
      );
      if (input.prompt.kind === "chat") messages = input.prompt.messages;
      await receiveAnswer(engine, input, signal, {
        isMine: isCurrent,
        patch: (part) => patch(({ answer }) => ({ answer: { ...answer, ...part(answer) } })),
        say: (sentence) => patch(() => ({ sentence })),
        onRate: (rate) => patch(({ rates }) => ({ rates: [...rates, rate].slice(-MAX_RATES) })),
      });
    } catch (error) {
      patch(({ answer }) => ({ answer: { ...answer, end: "Failed.", cut: true, error: toWireError(error) } }));
    }
    patch(() => ({ state: "done" }));
    const answer = get()
      .columnTurnOf(turn.id)
      ?.columns.find((each) => each.id === id)?.answer;
    if (!isCurrent() || answer === undefined) return;
    const asked = { mode, prompt, messages, parameters, pair: turn.id, model: other?.title ?? null };
    get().keepRun(id, asked, answer);
  };

  const skip = (turn: ColumnTurn, id: number): void =>
    patchColumn(turn.id, id, ({ answer }) => ({
      state: "done",
      answer: { ...answer, end: "Not started: stopped first.", cut: true },
    }));

  return {
    beside: [],
    columnOrder: "turn",
    columnTurns: [],
    setBeside(beside) {
      if (get().running !== null) return;
      closeOthers(beside);
      set({ beside: beside.slice(0, MOST_COLUMNS - 1) });
    },
    setColumnOrder: (columnOrder) => set({ columnOrder }),
    async askColumns(prompt, attachments) {
      const { beside, runMode: mode, columnOrder: order, model } = get();
      const open = current(model);
      if (open === null || beside.length === 0 || get().running !== null) return;
      const run = task.begin();
      const asked = askedParameters(get().parameters, open);
      const { seed } = asked;
      const columns = [{ device: asked.device, model: null }, ...beside].map(({ device, model: other }): Column => ({
        id: get().nextRunId(),
        parameters: { ...asked, device, cacheType: device === asked.device ? asked.cacheType : null },
        ...{ model: other, state: "waiting", sentence: "Waiting for its turn", answer: EMPTY_ANSWER, rates: [] },
      }));
      const turn: ColumnTurn = { id: columns[0]?.id ?? 0, prompt, attachments, mode, order, seed, columns };
      get().beginRun("Answering in columns");
      set({ columnTurns: [...get().columnTurns, turn] });
      try {
        if (order === "together") await Promise.all(columns.map((column) => answerIn(turn, column, open, run)));
        else
          for (const column of columns) {
            // After a stop the others do not begin.
            if (run.signal.aborted) skip(turn, column.id);
            else await answerIn(turn, column, open, run);
          }
      } finally {
        if (run.isCurrent()) get().endRun();
      }
    },
    stopColumns: task.stop,
    showColumnTurns: (columnTurns) => set({ columnTurns }),
    removeColumnTurn: (id) => set({ columnTurns: get().columnTurns.filter((turn) => turn.id !== id) }),
  };
}
