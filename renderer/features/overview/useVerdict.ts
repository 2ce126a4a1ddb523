/**
 * The verdict on the open model for the window's subject: its own line first, then a row for each target. A change of the subject
 * ends the question before it; what was shown stays until the answer is there. In prefill, line, shares and hops are a chunk's.
 */
import { useEffect, useState } from "react";
import type { CacheType } from "../../../main/contract/views/common.ts";
import type { CostView, Subject, Verdict } from "../../../main/contract/views/cost.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { inPrefill } from "./prefillVerdict.ts";

export interface Verdicts {
  /** For the chosen subject. */
  readonly own: Async<Verdict>;
  /** With the rows of all targets. */
  readonly all: Async<Verdict>;
  /** What `own` speaks of where it is a chunk of the prompt; null in decode, and for graphs without tokens. */
  readonly chunk: CostView | null;
  readonly retry: () => void;
}

/** What the window speaks of. */
export function useSubject(): Subject | null {
  const backend = useSession((state) => state.backend);
  const target = useSession((state) => state.target);
  return target === null ? null : { backend, target };
}

/** `rows`: of the subject only, or of all targets behind it. `cacheType`: of keys and values, where something keeps them so. */
export function useVerdict(rows: "own" | "all" = "all", cacheType: CacheType | null = null): Verdicts {
  const model = useSession((state) => {
    const overview = current(state.model);
    return overview?.canGraph.ok === true ? overview.model : null;
  });
  const ask = useSession((state) => state.askVerdict);
  const askCost = useSession((state) => state.askCost);
  const askRoute = useSession((state) => state.askRoute);
  const phase = useSession((state) => state.phase);
  const subject = useSubject();
  const [tries, setTries] = useState(0);
  const [own, setOwn] = useState<Async<Verdict>>(IDLE);
  const [all, setAll] = useState<Async<Verdict>>(IDLE);
  const [chunk, setChunk] = useState<CostView | null>(null);
  // Equal subjects are one question.
  const asked = subject === null ? null : JSON.stringify(subject);
  useEffect(() => {
    if (model === null || asked === null) return undefined;
    const ending = new AbortController();
    const of = { model, subject: JSON.parse(asked) as Subject, ...(cacheType !== null && { cacheType }) };
    const answer = async (which: "own" | "all", show: (change: (before: Async<Verdict>) => Async<Verdict>) => void) => {
      show((before) => loading(before));
      try {
        const decode = await ask({ ...of, rows: which }, ending.signal);
        const { verdict, chunk: read } =
          phase === "decode"
            ? { verdict: decode, chunk: null }
            : await inPrefill(decode, {
                costOf: (each) => askCost({ model, subject: each, phase }, ending.signal),
                routeOf: (each) => askRoute({ model, ...each, phase }, ending.signal),
              });
        if (ending.signal.aborted) return;
        show(() => ready(verdict));
        setChunk(read);
      } catch (error) {
        if (!ending.signal.aborted && !isCancelled(error)) show(() => failed(error));
      }
    };
    void answer("own", setOwn).then(() =>
      ending.signal.aborted || rows === "own" ? undefined : answer("all", setAll),
    );
    return () => ending.abort();
  }, [model, asked, ask, askCost, askRoute, phase, tries, rows, cacheType]);
  return { own, all, chunk, retry: () => setTries((n) => n + 1) };
}
