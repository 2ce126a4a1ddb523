/** The model as other GGUF files: another type, in one file or in parts. */
import type { Input } from "../../../main/contract/contract.ts";
import type { ConvertItem, ConvertPlanView } from "../../../main/contract/views/convert.ts";
import { CONVERT_TYPES } from "../../../main/contract/views/convert.ts";
import { current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { ReportOf, WriteActions, WriteState } from "../../writing/writing.ts";
import { createWriting, NOT_WRITING } from "../../writing/writing.ts";

export type ConvertReport = ReportOf<ConvertItem>;

/** How the file is cut: not at all, or at a most of megabytes or of tensors. */
export type Split = "none" | "megabytes" | "tensors";

export interface ConvertChoice {
  /** "" keeps the types that the model has. */
  readonly type: (typeof CONVERT_TYPES)[number] | "";
  readonly split: Split;
  readonly megabytes: number;
  readonly tensors: number;
}

export interface ConvertSlice {
  readonly convertChoice: ConvertChoice;
  readonly converting: WriteState<ConvertPlanView, ConvertItem>;
  readonly setConvertChoice: (part: Partial<ConvertChoice>) => void;
  readonly convertActions: WriteActions;
}

const START: ConvertChoice = { type: "", split: "none", megabytes: 2000, tensors: 128 };

export const convertTypeOf = (text: string): ConvertChoice["type"] => CONVERT_TYPES.find((type) => type === text) ?? "";

/** Megabytes are millions of bytes, as the command line counts them. */
const MEGABYTE = 1_000_000;

export function createConvertSlice(tools: SliceTools<ConvertSlice>): ConvertSlice {
  const { engine, set, get } = tools;
  const choice = (): Input<"convert.plan"> | null => {
    const open = current(get().model);
    if (open === null || open.file === null) return null;
    const { type, split, megabytes, tensors } = get().convertChoice;
    return {
      model: open.model,
      type: type === "" ? null : type,
      splitBytes: split === "megabytes" ? megabytes * MEGABYTE : null,
      splitTensors: split === "tensors" ? tensors : null,
    };
  };
  return {
    convertChoice: START,
    converting: NOT_WRITING,
    setConvertChoice(part) {
      set({ convertChoice: { ...get().convertChoice, ...part } });
      void get().convertActions.choose();
    },
    convertActions: createWriting<ConvertPlanView, ConvertItem>(tools, {
      get: () => get().converting,
      set: (converting) => set({ converting }),
      plan() {
        const asked = choice();
        return asked === null ? null : engine.call("convert.plan", asked);
      },
      write({ path, overwrite }, signal) {
        const asked = choice();
        if (asked === null || path === null) return null;
        get().noteCommand({ kind: "convert", ...get().convertChoice, path });
        return engine.stream("convert.run", { ...asked, path, overwrite }, { signal });
      },
      onLeft: () => set({ convertChoice: START }),
    }),
  };
}
