/**
 * Whether the machine is quiet enough to measure: heat, power, memory and what other programs use. A measurement waits for it at
 * its beginning and after each round; a round that was disturbed is taken again. Where it stays as it is, the measurement ends
 * with the reason; or goes on, where that was asked for, and its result is marked.
 */
import type { MachineState, Reading } from "../../contract/views/machine.ts";
import { redReadings } from "../../contract/benchVerdict.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { ProcessorTimes } from "../services.ts";
import type { StateParts } from "./machineState.ts";
import { machineState } from "./machineState.ts";

export interface GateOptions {
  readonly mode: "wait" | "warn";
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
  readonly say: (sentence: string) => void;
  /** Seconds. */
  readonly now?: () => number;
  readonly sleep?: (seconds: number) => Promise<void>;
}

export interface Gate {
  /** Returns once it is quiet. Throws ENV_NOT_QUIET where it does not become so. */
  begin(): Promise<MachineState>;
  afterRound(): Promise<"go on" | "again" | "stop">;
  end(): Promise<MachineState>;
  /** What disturbed the samples that count. */
  readonly red: () => readonly string[];
  /** Why it stopped; null where it did not. */
  readonly stopped: () => string | null;
}

/** Other programs may use as many processors as this, or this share of all, whichever is more. */
const OTHERS_PROCESSORS = 0.25;
const OTHERS_SHARE = 0.1;
/** The system counts in steps of a hundredth: of less time, nothing can be said. */
const LEAST_SECONDS = 0.5;
const LOOK_AGAIN_SECONDS = 2;

const QUIET_HINT = "Wait, or close what disturbs it. Or measure anyway: the result is then marked.";

export function createGate(parts: StateParts, options: GateOptions): Gate {
  const { mode, waitSeconds, signal, say } = options;
  const now = options.now ?? ((): number => performance.now() / 1000);
  const sleep = options.sleep ?? ((seconds): Promise<void> => pause(seconds, signal));
  const { machine } = parts;
  const found = new Set<string>();
  let stopped: string | null = null;
  let waited = 0;
  /** Of the rounds that count: seconds, and those that other programs used of processors. */
  let measured = { seconds: 0, others: 0 };
  let mark = markOf(machine.processorTimes(), now());

  /** The last answer: what is asked too soon after it is answered the same. */
  let latest: Reading | null = null;
  /** What other programs used since the last look; null where it is too early or not told. */
  const lookAtOthers = (): { readonly seconds: number; readonly others: number } | null => {
    const next = markOf(machine.processorTimes(), now());
    if (mark.times === null || next.times === null || next.at - mark.at < LEAST_SECONDS) return null;
    const foreign = next.times.busy - mark.times.busy - (next.times.own - mark.times.own);
    const seconds = next.at - mark.at;
    mark = next;
    return { seconds, others: Math.max(0, foreign) };
  };
  const stateWith = async (others: Reading | null): Promise<MachineState> => {
    const state = await machineState(parts);
    if (others === null) return state;
    // The load average looks back a minute, and at this program too: what others use now is the better answer.
    const readings = state.readings.map((each): Reading => (each.id === "load" ? { ...each, state: "ok" } : each));
    return { ...state, readings: [...readings, others] };
  };
  const reading = (seconds: number, others: number, when: string): Reading => {
    const used = others / Math.max(seconds, 1e-9);
    const most = Math.max(OTHERS_PROCESSORS, OTHERS_SHARE * machine.threads);
    return {
      id: "others",
      title: "Other programs",
      value: `${used.toFixed(1)} of ${machine.threads} processors${when}`,
      source: "the system's count of busy processors, without this program's own",
      state: used > most ? "warning" : "ok",
    };
  };
  const current = async (withLoad: boolean): Promise<{ state: MachineState; red: readonly Reading[] }> => {
    const look = lookAtOthers();
    if (look !== null) latest = reading(look.seconds, look.others, "");
    const state = await stateWith(latest);
    return { state, red: redReadings(state).filter(({ id }) => withLoad || id !== "load") };
  };

  /** Waits until nothing is red. Otherwise says why not. */
  const untilQuiet = async (red: readonly Reading[], withLoad: boolean): Promise<string | null> => {
    let bad = red;
    while (bad.length > 0) {
      throwIfCancelled(signal);
      const why = wordsOf(bad);
      // Heat and load go by themselves, a battery does not become a socket.
      if (waited >= waitSeconds || bad.some(({ id }) => id === "power")) return why;
      say(`Waiting for a quiet machine: ${why}`);
      await sleep(LOOK_AGAIN_SECONDS);
      waited += LOOK_AGAIN_SECONDS;
      bad = (await current(withLoad)).red;
    }
    return null;
  };

  return {
    red: () => [...found],
    stopped: () => stopped,
    async begin() {
      // A first look at what others do: nothing of ours runs yet.
      if (mark.times !== null && mode === "wait") await sleep(LEAST_SECONDS);
      const { state, red } = await current(true);
      if (mode === "warn") {
        for (const each of red) found.add(wordsOf([each]));
        return state;
      }
      const why = await untilQuiet(red, true);
      if (why !== null)
        throw new WorkbenchError("ENV_NOT_QUIET", `[bench] this machine: got ${why}, expected a quiet one`, {
          hint: QUIET_HINT,
        });
      const begun = red.length === 0 ? state : (await current(true)).state;
      mark = markOf(machine.processorTimes(), now());
      return begun;
    },
    async afterRound() {
      throwIfCancelled(signal);
      const look = lookAtOthers();
      const state = await stateWith(look === null ? null : reading(look.seconds, look.others, ""));
      const red = redReadings(state).filter(({ id }) => id !== "load");
      const keep = (): void => {
        if (look !== null)
          measured = { seconds: measured.seconds + look.seconds, others: measured.others + look.others };
      };
      if (red.length === 0 || mode === "warn") {
        keep();
        // Other programs are judged over all rounds together: see end().
        for (const each of red) if (each.id !== "others") found.add(wordsOf([each]));
        return "go on";
      }
      const why = await untilQuiet(red, false);
      mark = markOf(machine.processorTimes(), now());
      if (why === null) return "again";
      keep();
      for (const each of red) found.add(wordsOf([each]));
      stopped = `It stopped before the end: ${why}.`;
      return "stop";
    },
    async end() {
      const look = lookAtOthers();
      if (look !== null) measured = { seconds: measured.seconds + look.seconds, others: measured.others + look.others };
      const others = measured.seconds === 0 ? null : reading(measured.seconds, measured.others, " while it ran");
      const state = await stateWith(others);
      for (const each of redReadings(state)) if (each.id !== "load") found.add(wordsOf([each]));
      return state;
    },
  };
}

interface Mark {
  readonly times: ProcessorTimes | null;
  readonly at: number;
}
const markOf = (times: ProcessorTimes | null, at: number): Mark => ({ times, at });

/** "Thermal state serious, Load 9.8 on 2 processors" */
const wordsOf = (readings: readonly Reading[]): string =>
  readings.map(({ title, value }) => `${title} ${value ?? ""}`.trim()).join(", ");

/** Ends early when it is cancelled. */
export const pause = (seconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    signal.addEventListener("abort", done, { once: true });
  });
