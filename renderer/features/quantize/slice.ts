/** The model in smaller types: a recipe with its exceptions, its plan, and its writing. */
import type { Input } from "../../../main/contract/contract.ts";
import type { QuantizeItem, QuantizePlanView } from "../../../main/contract/views/quantize.ts";
import { current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { ReportOf, WriteActions, WriteState } from "../../writing/writing.ts";
import { createWriting, NOT_WRITING } from "../../writing/writing.ts";

export type QuantizeReport = ReportOf<QuantizeItem>;

export interface QuantizeChoice {
  readonly recipe: string;
  /** A path on the engine's machine; empty for none. */
  readonly importance: string;
  /** Exceptions, one a line: `pattern=type`. */
  readonly overrides: string;
  /** Every weight gets the recipe's own type. */
  readonly pure: boolean;
}

export interface QuantizeSlice {
  readonly quantizeChoice: QuantizeChoice;
  readonly quantizing: WriteState<QuantizePlanView, QuantizeItem>;
  readonly setQuantizeChoice: (part: Partial<QuantizeChoice>) => void;
  readonly quantizeActions: WriteActions;
}

const START: QuantizeChoice = { recipe: "q4_k_m", importance: "", overrides: "", pure: false };

/** Rules of the form `pattern=type`, and the first line that has another form. */
export function overridesIn(text: string): {
  readonly rules: { readonly pattern: string; readonly type: string }[];
  readonly wrong: string | null;
} {
  const lines = text.split("\n").flatMap((line) => line.trim() || []);
  const ruleOf = (line: string): { pattern: string; type: string } | null => {
    const [, pattern, type] = /^(.*\S)\s*=\s*(\w+)$/u.exec(line) ?? [];
    return pattern === undefined || type === undefined ? null : { pattern, type };
  };
  return {
    rules: lines.flatMap((line) => ruleOf(line) ?? []),
    wrong: lines.find((line) => ruleOf(line) === null) ?? null,
  };
}

export function createQuantizeSlice(tools: SliceTools<QuantizeSlice>): QuantizeSlice {
  const { engine, set, get } = tools;
  const choice = (): Input<"quantize.plan"> | null => {
    const open = current(get().model);
    if (open === null || open.file === null) return null;
    const { recipe, importance, overrides, pure } = get().quantizeChoice;
    const path = importance.trim();
    return {
      model: open.model,
      recipe,
      pure,
      overrides: overridesIn(overrides).rules,
      ...(path === "" ? {} : { importance: path }),
    };
  };
  return {
    quantizeChoice: START,
    quantizing: NOT_WRITING,
    setQuantizeChoice(part) {
      set({ quantizeChoice: { ...get().quantizeChoice, ...part } });
      void get().quantizeActions.choose();
    },
    quantizeActions: createWriting<QuantizePlanView, QuantizeItem>(tools, {
      get: () => get().quantizing,
      set: (quantizing) => set({ quantizing }),
      measures: true,
      plan() {
        const asked = choice();
        return asked === null ? null : engine.call("quantize.plan", asked);
      },
      write({ path, overwrite }, signal) {
        const asked = choice();
        if (asked === null) return null;
        const overrides = asked.overrides?.map(({ pattern, type }) => `${pattern}=${type}`).join("\n") ?? "";
        get().noteCommand({ kind: "quantize", ...get().quantizeChoice, overrides, path });
        const input = { ...asked, overwrite, ...(path === null ? {} : { path }) };
        return engine.stream("quantize.run", input, { signal });
      },
      onLeft: () => set({ quantizeChoice: START }),
    }),
  };
}
