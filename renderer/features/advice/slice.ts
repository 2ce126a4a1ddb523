/** Advice for the subject of the window: the list, which is looked at, and a measurement that runs. */
import type { Advice, AdviceList, AdviceVerdict } from "../../../main/contract/views/advice.ts";
import type { Figure, TargetSpec } from "../../../main/contract/views/common.ts";
import type { Backend } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

/** A measurement: pairs so far, of how many. */
export interface Measuring {
  readonly rule: string;
  readonly sentence: string;
  readonly pairs: number;
}

/** What was applied last, and the subject before it. */
export interface Applied {
  readonly title: string;
  /** Seconds of a step. */
  readonly before: Figure;
  readonly after: Figure;
  readonly back: { readonly target: TargetSpec; readonly backend: Backend };
}

export interface AdviceSlice {
  /** Until the subject is changed in another way. */
  readonly applied: Applied | null;
  readonly advices: Async<AdviceList>;
  /** The rule whose card is open; null: all closed. */
  readonly openAdvice: string | null;
  readonly measuringAdvice: Measuring | null;
  /** The rule that was not measured because this machine is busy, and why. */
  readonly unquietAdvice: { readonly rule: string; readonly sentence: string } | null;
  readonly toggleAdvice: (rule: string, open?: boolean) => void;
  readonly loadAdvices: () => Promise<void>;
  /** Shows the route with the change under the real one, or takes it away. */
  readonly previewAdvice: (rule: string) => Promise<void>;
  /** warn: although the machine is not quiet. */
  readonly measureAdvice: (rule: string, conditions?: "wait" | "warn") => Promise<void>;
  readonly stopMeasuringAdvice: () => void;
  /** Makes the changed target or runtime the window's subject, and remembers the one before. */
  readonly applyAdvice: (advice: Advice) => void;
  readonly undoAdvice: () => void;
}

/** Pairs of a measurement: enough for an interval, and over in a minute. */
export const PAIRS = 8;

export function createAdviceSlice({ engine, set, get, on, watch }: SliceTools<AdviceSlice>): AdviceSlice {
  const finding = createTask();
  const measuring = createTask();
  const subject = () => {
    const { model, target, phase, backend } = get();
    const open = current(model);
    return open === null || target === null || !open.canGraph.ok ? null : { model: open.model, target, phase, backend };
  };
  const drop = (): void => {
    finding.abandon();
    measuring.abandon();
    set({ advices: IDLE, measuringAdvice: null, unquietAdvice: null });
  };
  on("modelLeft", () => {
    drop();
    set({ openAdvice: null, applied: null });
  });
  watch(({ backend, target, phase }) => [backend, target, phase], drop);
  let applying = false;
  watch(
    ({ backend, target }) => [backend, target],
    () => {
      if (!applying && get().applied !== null) set({ applied: null });
    },
  );
  const become = ({ target, backend }: Partial<Applied["back"]>): void => {
    applying = true;
    if (target !== undefined) get().setTarget(target);
    if (backend !== undefined) get().setBackend(backend);
    applying = false;
  };
  let [makesRoom, isDue] = [false, false];
  on("routesSettled", () => {
    if (makesRoom) isDue = true;
    else void get().loadAdvices();
  });
  on("personWaits", (waits) => {
    makesRoom = waits;
    if (waits && get().advices.kind === "loading") {
      finding.abandon();
      isDue = true;
    }
    if (waits || !isDue) return;
    isDue = false;
    void get().loadAdvices();
  });

  const withVerdict = (rule: string, verdict: AdviceVerdict): void => {
    const list = current(get().advices);
    if (list === null) return;
    const advices = list.advices.map((one): Advice => (one.rule === rule ? { ...one, verdict } : one));
    set({ advices: ready({ ...list, advices }) });
  };

  return {
    applied: null,
    advices: IDLE,
    openAdvice: null,
    measuringAdvice: null,
    unquietAdvice: null,
    toggleAdvice: (rule, open) => set({ openAdvice: (open ?? get().openAdvice !== rule) ? rule : null }),
    async loadAdvices() {
      const asked = subject();
      if (asked === null) return;
      finding.stop();
      const { signal, isCurrent } = finding.begin();
      set({ advices: loading(get().advices) });
      try {
        const list = await engine.call("advice.list", asked, { signal });
        if (isCurrent()) set({ advices: ready(list) });
      } catch (error) {
        if (isCurrent() && !isCancelled(error)) set({ advices: failed(error) });
      }
    },
    async previewAdvice(rule) {
      const asked = subject();
      if (asked === null) return;
      if (get().ghost?.rule === rule) return get().showGhost(null);
      try {
        const { advice, route, rows } = await engine.call("advice.preview", { ...asked, rule });
        // Another choice came meanwhile.
        if (JSON.stringify(subject()) !== JSON.stringify(asked) || route === null) return;
        const { title, before, after } = advice;
        get().showGhost({ rule, title, route, rows, before, after });
      } catch (error) {
        get().notifyError("The change could not be previewed", error);
      }
    },
    async measureAdvice(rule, conditions = "wait") {
      const asked = subject();
      if (asked === null || get().measuringAdvice !== null) return;
      const { signal, isCurrent } = measuring.begin();
      set({ measuringAdvice: { rule, sentence: "Starting", pairs: 0 }, unquietAdvice: null });
      try {
        const input = { ...asked, rule, pairs: PAIRS, conditions };
        for await (const item of engine.stream("advice.measure", input, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "phase") set({ measuringAdvice: { rule, sentence: item.sentence, pairs: 0 } });
          else if (item.kind === "pair")
            set({ measuringAdvice: { rule, sentence: "Measuring in turns", pairs: item.index + 1 } });
          else withVerdict(rule, item.verdict);
        }
      } catch (error) {
        const { code, message } = toWireError(error);
        if (code === "ENV_NOT_QUIET" && isCurrent()) set({ unquietAdvice: { rule, sentence: message } });
        else if (!isCancelled(error)) get().notifyError("The advice could not be measured", error);
      } finally {
        if (isCurrent()) set({ measuringAdvice: null });
      }
    },
    stopMeasuringAdvice: measuring.stop,
    applyAdvice({ title, before, after, change }) {
      const { target, backend } = get();
      if (target === null || (change.kind !== "target" && change.kind !== "backend")) return;
      become(change.kind === "target" ? { target: change.target } : { backend: change.backend });
      set({ applied: { title, before, after, back: { target, backend } } });
    },
    undoAdvice() {
      const { applied } = get();
      if (applied === null) return;
      become(applied.back);
      set({ applied: null });
    },
  };
}
