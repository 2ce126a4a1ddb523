/**
 * What a slice is made with. It reads the whole session, writes its own fields only, and hears of
 * other slices by events: senders do not know the listeners, and each slice resets itself.
 */
import type { BenchResult } from "../../main/contract/views/bench.ts";
import type { StoreApi } from "zustand/vanilla";
import type { EngineClient } from "../../main/contract/contract.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { Backend, PassList, Stage } from "../../main/contract/views/graph.ts";
import type { RunDevice } from "../../main/contract/views/engine.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import type { Preferences } from "../../main/contract/views/preferences.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { Chooser, SessionState, WeightErrors } from "./sessionSlice.ts";

export interface WindowEvents {
  /** The open model is about to go: the last moment in which the slices hold what is about it. */
  readonly modelLeaving: { readonly opensAgain: boolean };
  /** The open model is gone, for another one or for none. */
  readonly modelLeft: {
    /** The same source opens again after the engine was lost: conversation and results stay. */
    readonly opensAgain: boolean;
  };
  readonly modelShown: Overview;
  /** The graph follows from the context; everything else in a target leaves it as it is. */
  readonly targetChanged: { readonly contextChanged: boolean };
  readonly phaseChanged: null;
  readonly backendChanged: { readonly backend: Backend; readonly by: Chooser };
  /** The device that runs, measures and records for the subject, unless a person chooses another. */
  readonly runnerChanged: RunDevice;
  /** The graph and the routes of both phases have arrived. */
  readonly routesSettled: null;
  /** Whether a person waits for long work of the engine: what is only prepared ahead makes room for it, and goes on after it. */
  readonly personWaits: boolean;
  readonly passesListed: Pick<PassList, "passes">;
  /** In the pipeline. */
  readonly passChosen: string;
  readonly stageChosen: Pick<Stage, "step">;
  /** A node of the legal graph that another feature wants to see in the graph. */
  readonly nodeChosen: number;
  /** The selected op is this node of the graph that has taken the place of the one before. */
  readonly nodeKept: number;
  readonly profileChanged: ProfileView | null;
  /** A benchmark of the open model that another feature ran. */
  readonly benchMeasured: BenchResult;
  readonly weightErrorsChanged: WeightErrors | null;
  readonly devicesCalibrated: null;
  /** What is set for this machine: at first, and after each change. */
  readonly preferencesChanged: Preferences;
  /** A session's file that is to be gone on with. */
  readonly sessionGiven: File;
  /** A run has ended: what was asked and written. */
  readonly answered: string;
}

type Part<Own, P> = P & { readonly [Foreign in Exclude<keyof P, keyof Own>]: never };

export interface SliceTools<Own, Readable = SessionState & Own> {
  readonly engine: EngineClient;
  /** null in a browser. */
  readonly shell: ShellBridge | null;
  /** A field of another slice is a type error, in a spread too. */
  readonly set: <P extends Partial<Own>>(part: Part<Own, P>) => void;
  readonly get: () => Readable;
  readonly on: <Name extends keyof WindowEvents>(event: Name, react: (news: WindowEvents[Name]) => void) => void;
  /** As `on`, for the next time only. */
  readonly once: <Name extends keyof WindowEvents>(event: Name, react: (news: WindowEvents[Name]) => void) => void;
  readonly emit: <Name extends keyof WindowEvents>(event: Name, news: WindowEvents[Name]) => void;
  /** Reacts whenever one of the values changes. */
  readonly watch: (values: (state: Readable) => readonly unknown[], react: () => void) => void;
}

/** Gives each slice its tools; all of them share the store and the events. */
export function createTools<State>(
  engine: EngineClient,
  shell: ShellBridge | null,
  store: StoreApi<State>,
): <Own, Readable>() => SliceTools<Own, Readable> {
  const { on, once, emit } = createEvents();
  return <Own, Readable>(): SliceTools<Own, Readable> => {
    // The one store is the intersection of all slices.
    const slice = store as unknown as StoreApi<Own & Readable>;
    return {
      ...{ engine, shell, on, once, emit },
      set: (part) => slice.setState(part as Partial<Own & Readable>),
      get: slice.getState,
      watch(values, react) {
        let before: readonly unknown[] = [];
        slice.subscribe((state) => {
          const now = values(state);
          if (now.length === before.length && now.every((value, i) => value === before[i])) return;
          before = now;
          react();
        });
      },
    };
  };
}

function createEvents(): Pick<SliceTools<unknown>, "on" | "once" | "emit"> {
  const listeners: { [Name in keyof WindowEvents]?: ((news: WindowEvents[Name]) => void)[] } = {};
  const set = <Name extends keyof WindowEvents>(
    event: Name,
    change: (
      reacts: readonly ((news: WindowEvents[Name]) => void)[],
    ) => readonly ((news: WindowEvents[Name]) => void)[],
  ): void => void Object.assign(listeners, { [event]: change(listeners[event] ?? []) });
  return {
    on: (event, react) => set(event, (others) => [...others, react]),
    once(event, react) {
      const first: typeof react = (news) => {
        set(event, (others) => others.filter((other) => other !== first));
        react(news);
      };
      set(event, (others) => [...others, first]);
    },
    emit(event, news) {
      for (const react of listeners[event] ?? []) react(news);
    },
  };
}
