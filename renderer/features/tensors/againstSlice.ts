/** Another file of the same model: its path, the comparison of all tensors with it, and the errors that it found. */
import type { Input } from "../../../main/contract/contract.ts";
import type { Phase } from "../../../main/contract/views/common.ts";
import type { Backend } from "../../../main/contract/views/graph.ts";
import type { ComparedTensor, TensorsAgainstItem } from "../../../main/contract/views/tensors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, isCancelled } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { TensorsSlice } from "./slice.ts";

export type CompareReport = Extract<TensorsAgainstItem, { kind: "done" }>;
export type CompareProgress = Extract<TensorsAgainstItem, { kind: "progress" }>;

export interface Comparison {
  /** What the engine knows the other file by. */
  readonly path: string;
  readonly report: CompareReport;
  readonly errors: ReadonlyMap<string, ComparedTensor>;
}

export interface AgainstSlice {
  /** Another file of the same model, on the engine's machine; empty for none. */
  readonly againstPath: string;
  readonly against: Comparison | null;
  readonly againstRunning: boolean;
  readonly againstSince: number;
  readonly againstProgress: CompareProgress | null;
  readonly againstError: WireError | null;
  readonly againstSaid: string;
  readonly setAgainstPath: (path: string) => void;
  readonly startAgainst: () => Promise<void>;
  readonly stopAgainst: () => void;
  /** Forgets the errors; the path stays. */
  readonly closeAgainst: () => void;
}

const NOTHING = {
  against: null,
  againstRunning: false,
  againstProgress: null,
  againstError: null,
  againstSaid: "",
} as const;

export const NO_COMPARISON = { ...NOTHING, againstPath: "", againstSince: 0 } as const;

export function createAgainstSlice({
  engine,
  set,
  get,
  on,
}: SliceTools<AgainstSlice, SessionState & AgainstSlice & TensorsSlice>): AgainstSlice {
  const comparing = createTask();
  const forget = (): void => {
    set(NOTHING);
    get().setMapColor("type");
  };
  on("modelLeft", () => {
    comparing.abandon();
    set({ ...NOTHING, againstPath: "" });
  });
  return {
    ...NO_COMPARISON,
    setAgainstPath: (againstPath) => set({ againstPath, againstError: null, againstSaid: "" }),
    async startAgainst() {
      const open = current(get().model);
      const path = get().againstPath.trim();
      if (open === null || path === "" || get().againstRunning) return;
      const { signal, isCurrent } = comparing.begin();
      forget();
      set({ againstRunning: true, againstSince: Date.now() });
      get().noteCommand({ kind: "tensors", against: path });
      try {
        for await (const item of engine.stream("tensors.compare", { model: open.model, against: path }, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "progress") set({ againstProgress: item });
          else {
            const errors = new Map(item.rows.map((row) => [row.tensor, row]));
            set({ against: { path, report: item, errors } });
            get().setMapColor("error");
          }
        }
        if (isCurrent() && get().against === null) set({ againstSaid: "Cancelled." });
      } catch (error) {
        if (!isCurrent()) return;
        if (isCancelled(error)) set({ againstSaid: "Cancelled." });
        else set({ againstError: toWireError(error) });
      } finally {
        if (isCurrent()) set({ againstRunning: false, againstProgress: null });
      }
    },
    stopAgainst: comparing.stop,
    closeAgainst: forget,
  };
}

export type HeldQuestion = Input<"tensors.groups">["held"];

/**
 * What the engine is asked of how tensors are held: nothing until it is known without work, which for Core ML is when the
 * route of the subject has arrived; a model without a graph has none to wait for.
 */
export function heldQuestion(state: {
  readonly model: SessionState["model"];
  readonly backend: Backend;
  readonly target: SessionState["target"];
  readonly phase: Phase;
  readonly routes: Readonly<Record<Phase, Async<unknown>>>;
}): NonNullable<HeldQuestion> | null {
  const { model, backend, target, phase, routes } = state;
  const open = current(model);
  if (open === null || target === null) return null;
  if (backend === "coreml" && open.canGraph.ok && routes[phase].kind !== "ready") return null;
  return { subject: { backend, target }, phase };
}
