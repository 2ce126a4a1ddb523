/** The listed tensors: pages on demand and sums of groups, forgotten when the question changes. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { TensorPage, TensorRow } from "../../../main/contract/views/model.ts";
import type { TensorGrouping, TensorGroups, TensorSort } from "../../../main/contract/views/tensors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import type { AgainstSlice, HeldQuestion } from "./againstSlice.ts";
import { heldQuestion } from "./againstSlice.ts";
import type { TensorsSlice } from "./slice.ts";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

const PAGE = 200;

export interface ListQuestion {
  readonly model: string;
  readonly query: string;
  readonly sort: TensorSort;
  readonly descending: boolean;
  readonly group: TensorGrouping;
  readonly held: NonNullable<HeldQuestion> | null;
  readonly against: string | null;
}

interface Answer {
  readonly found: Pick<TensorPage, "total" | "matched" | "matchedBytes"> | null;
  readonly groups: TensorGroups | null;
  readonly rows: ReadonlyMap<number, TensorRow>;
  readonly error: WireError | null;
}

export interface Rows extends Answer {
  readonly need: (first: number, last: number) => void;
}

/** How the subject holds tensors; the same value as long as the subject is the same. */
export function useHeldQuestion(): NonNullable<HeldQuestion> | null {
  const model = useSession((state) => state.model);
  const backend = useSession((state) => state.backend);
  const target = useSession((state) => state.target);
  const phase = useSession((state) => state.phase);
  const routes = useSession((state) => state.routes);
  const text = JSON.stringify(heldQuestion({ model, backend, target, phase, routes }));
  return useMemo(() => JSON.parse(text) as NonNullable<HeldQuestion> | null, [text]);
}

export function useRows(question: ListQuestion): Rows {
  const ask = useSession((state) => state.askTensors);
  const askGroups = useTensors((state) => state.askTensorGroups);
  const [answer, setAnswer] = useState<Answer>({ found: null, groups: null, rows: new Map(), error: null });
  const asked = useRef({ serial: 0, pages: new Set<number>() });
  const { model, query, sort, descending, group, held, against } = question;
  const listed = useMemo(() => ({ model, query, group, held, against }), [model, query, group, held, against]);
  const load = useCallback(
    (page: number): void => {
      const { serial, pages } = asked.current;
      if (pages.has(page)) return;
      pages.add(page);
      const isCurrent = (): boolean => serial === asked.current.serial;
      const failed = (error: unknown): void => {
        if (isCurrent()) setAnswer((before) => ({ ...before, error: toWireError(error) }));
      };
      const rowsAsked = ask({ ...listed, sort, descending, offset: page * PAGE, limit: PAGE });
      // Heads and rows come together, or the list would jump.
      const groupsAsked = page === 0 ? askGroups(listed) : null;
      Promise.all([rowsAsked, groupsAsked]).then(([{ rows, ...found }, groups]) => {
        if (!isCurrent()) return;
        setAnswer((before) => {
          const next = page === 0 ? new Map<number, TensorRow>() : new Map(before.rows);
          rows.forEach((row, i) => next.set(page * PAGE + i, row));
          return { found, groups: groups ?? before.groups, rows: next, error: null };
        });
      }, failed);
    },
    [ask, askGroups, listed, sort, descending],
  );
  useEffect(() => {
    asked.current = { serial: asked.current.serial + 1, pages: new Set() };
    load(0);
  }, [load]);
  const need = useCallback(
    (first: number, last: number): void => {
      for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) load(page);
    },
    [load],
  );
  return { ...answer, need };
}
