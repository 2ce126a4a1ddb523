/** Side by side: one question, two devices, the same seed. Each question stands for itself, so that both read the same prompt. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { current } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";
import { KEPT_RUNS, recordOf } from "./history.ts";
import type { PairOrder, PairSide, PairTurn } from "./pair.ts";
import { receiveAnswer } from "./receive.ts";
import { EMPTY_ANSWER, runRequest } from "./request.ts";
import type { RunSlice } from "./slice.ts";
import { askedParameters, MAX_RATES, runCommand } from "./asking.ts";

export interface PairSlice {
  /** The second device; null: one answers alone. */
  readonly beside: RunDevice | null;
  readonly pairOrder: PairOrder;
  readonly pairTurns: readonly PairTurn[];
  readonly setBeside: (device: RunDevice | null) => void;
  readonly setPairOrder: (order: PairOrder) => void;
  readonly askPair: (prompt: string) => Promise<void>;
  readonly stopPair: () => void;
  readonly clearPairs: () => void;
}

type State = SessionState & RunSlice & PairSlice;
type Index = 0 | 1;

export function createPairSlice({ engine, set, get }: SliceTools<State>): PairSlice {
  let stopping: AbortController | null = null;

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
  const answerOn = async (turn: PairTurn, index: Index, model: string, mine: AbortController): Promise<void> => {
    const { mode, prompt } = turn;
    const { parameters, id } = turn.sides[index];
    const input = runRequest(model, mode, [], prompt, parameters);
    patchSide(turn.id, index, () => ({ state: "running" }));
    await receiveAnswer(engine, input, mine.signal, {
      isMine: () => stopping === mine,
      patch: (part) => patchSide(turn.id, index, (side) => ({ answer: { ...side.answer, ...part(side.answer) } })),
      say: (sentence) => patchSide(turn.id, index, () => ({ sentence })),
      onRate: (rate) => patchSide(turn.id, index, (side) => ({ rates: [...side.rates, rate].slice(-MAX_RATES) })),
    });
    patchSide(turn.id, index, () => ({ state: "done" }));
    const side = sideOf(turn.id, index);
    if (stopping !== mine || side === undefined) return;
    const messages = input.prompt.kind === "chat" ? input.prompt.messages : [];
    const record = recordOf(id, Date.now(), { mode, prompt, messages, parameters, pair: turn.id }, side.answer);
    set({ runHistory: [record, ...get().runHistory].slice(0, KEPT_RUNS) });
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
      const mine = new AbortController();
      stopping = mine;
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
      set({
        pairTurns: [...get().pairTurns, turn],
        running: { sentence: "Answering on two devices", stopping: false },
        historyShown: false,
        chosenToken: null,
      });
      for (const { parameters } of sides) get().noteCommand(runCommand(mode, prompt, parameters));
      try {
        if (order === "together")
          await Promise.all([answerOn(turn, 0, open.model, mine), answerOn(turn, 1, open.model, mine)]);
        else {
          await answerOn(turn, 0, open.model, mine);
          // Who stops does not want the second one to begin.
          if (mine.signal.aborted) skip(turn.id);
          else await answerOn(turn, 1, open.model, mine);
        }
      } finally {
        if (stopping === mine) {
          stopping = null;
          set({ running: null });
        }
      }
    },
    stopPair: () => stopping?.abort(),
    clearPairs() {
      stopping?.abort();
      stopping = null;
      set({ pairTurns: [] });
    },
  };

  function skip(turn: number): void {
    patchSide(turn, 1, (side) => ({
      state: "done",
      answer: { ...side.answer, end: "Not begun: stopped before.", cut: true },
    }));
  }
}
