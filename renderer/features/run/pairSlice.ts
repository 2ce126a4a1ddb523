/** Side by side: one question, two devices, the same seed. No question sees the ones before it, so both read the same prompt. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { createTask, current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { TaskRun } from "../../session/async.ts";
import type { PairOrder, PairSide, PairTurn } from "./pair.ts";
import { receiveAnswer } from "./receive.ts";
import { EMPTY_ANSWER, runRequest } from "./request.ts";
import type { RunState } from "./slice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";

export interface PairSlice {
  /** The second device; null: one device answers alone. */
  readonly beside: RunDevice | null;
  readonly pairOrder: PairOrder;
  readonly pairTurns: readonly PairTurn[];
  readonly setBeside: (device: RunDevice | null) => void;
  readonly setPairOrder: (order: PairOrder) => void;
  readonly askPair: (prompt: string) => Promise<void>;
  readonly stopPair: () => void;
  readonly clearPairs: () => void;
}

type Index = 0 | 1;

export function createPairSlice({ engine, set, get, on }: SliceTools<PairSlice, RunState>): PairSlice {
  const task = createTask();
  const clearPairs = (): void => {
    task.abandon();
    set({ pairTurns: [] });
  };
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) clearPairs();
  });

  const patchSide = (turn: number, index: Index, part: (side: PairSide) => Partial<PairSide>): void =>
    set({
      pairTurns: get().pairTurns.map((each) => {
        if (each.id !== turn) return each;
        const [left, right] = each.sides;
        const sides: PairTurn["sides"] =
          index === 0 ? [{ ...left, ...part(left) }, right] : [left, { ...right, ...part(right) }];
        return { ...each, sides };
      }),
    });

  const sideOf = (turn: number, index: Index): PairSide | undefined =>
    get().pairTurns.find(({ id }) => id === turn)?.sides[index];

  /** One of the two answers, from the request to the history. */
  const answerOn = async (
    turn: PairTurn,
    index: Index,
    model: string,
    { signal, isCurrent }: TaskRun,
  ): Promise<void> => {
    const { mode, prompt } = turn;
    const { parameters, id } = turn.sides[index];
    const input = runRequest(model, mode, [], { prompt, results: [] }, parameters);
    patchSide(turn.id, index, () => ({ state: "running" }));
    await receiveAnswer(engine, input, signal, {
      isMine: isCurrent,
      patch: (part) => patchSide(turn.id, index, (side) => ({ answer: { ...side.answer, ...part(side.answer) } })),
      say: (sentence) => patchSide(turn.id, index, () => ({ sentence })),
      onRate: (rate) => patchSide(turn.id, index, (side) => ({ rates: [...side.rates, rate].slice(-MAX_RATES) })),
    });
    patchSide(turn.id, index, () => ({ state: "done" }));
    const side = sideOf(turn.id, index);
    if (!isCurrent() || side === undefined) return;
    const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
    get().keepRun(id, { mode, prompt, messages, parameters, pair: turn.id }, side.answer);
  };

  return {
    beside: null,
    pairOrder: "turn",
    pairTurns: [],
    setBeside(beside) {
      if (get().running === null) set({ beside });
    },
    setPairOrder: (pairOrder) => set({ pairOrder }),
    async askPair(prompt) {
      const { beside, runMode: mode, pairOrder: order, model } = get();
      const open = current(model);
      if (open === null || beside === null || get().running !== null) return;
      const run = task.begin();
      const asked = askedParameters(get().parameters, open);
      const { seed } = asked;
      const sideFor = (device: RunDevice): PairSide => ({
        id: get().nextRunId(),
        parameters: { ...asked, device, seed },
        state: "waiting",
        sentence: "Waiting for its turn",
        answer: EMPTY_ANSWER,
        rates: [],
      });
      const sides = [sideFor(asked.device), sideFor(beside)] as const;
      const turn: PairTurn = { id: sides[0].id, prompt, mode, order, seed, sides };
      get().beginRun("Answering on two devices");
      set({ pairTurns: [...get().pairTurns, turn] });
      for (const { parameters } of sides) get().noteCommand(runCommand(mode, prompt, parameters));
      try {
        if (order === "together")
          await Promise.all([answerOn(turn, 0, open.model, run), answerOn(turn, 1, open.model, run)]);
        else {
          await answerOn(turn, 0, open.model, run);
          // After a stop the second one does not begin.
          if (run.signal.aborted) skip(turn.id);
          else await answerOn(turn, 1, open.model, run);
        }
      } finally {
        if (run.isCurrent()) get().endRun();
      }
    },
    stopPair: task.stop,
    clearPairs,
  };

  function skip(turn: number): void {
    patchSide(turn, 1, (side) => ({
      state: "done",
      answer: { ...side.answer, end: "Not started: stopped first.", cut: true },
    }));
  }
}
