/** What a session keeps of training: the form as it is typed. Runs are kept by the engine, for every window. */
import { z } from "zod";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { TRAIN_LIMITS } from "../../../main/contract/views/train.ts";
import { documentPart } from "../../session/document.ts";
import type { NumberName, ScheduleKind } from "./form.ts";
import { NUMBERS, SCHEDULES } from "./form.ts";
import type { TrainSlice } from "./slice.ts";

const text = z.string().max(4096);
const texts = z.record(z.string().max(64), text);
const PLACES = ["data", "model", "checkpoint", "resume", "output"] as const;

const LATER = {
  ...{ accumulate: "1", average: "" },
  ...{ weightBits: "", activationBits: "8", quantizeAfter: "", calibrationBatches: "8" },
} satisfies Partial<Record<NumberName, string>>;

const group = z.object({
  ...{ names: text, rank: z.string().max(64), optimizer: z.string().max(64), lr: z.string().max(64) },
  options: z.record(z.string().max(64), z.union([z.number(), z.boolean(), z.string().max(256)])),
});

const form = z.object({
  recipe: z.string().max(64),
  numbers: z.preprocess(
    // Forms that were kept before these numbers were there.
    (given) => (typeof given === "object" ? { ...LATER, ...given } : given),
    z.record(z.enum(Object.keys(NUMBERS) as [NumberName, ...NumberName[]]), z.string().max(64)),
  ),
  groups: z.array(group).max(TRAIN_LIMITS.groups).default([]),
  ...{ title: text, optimizer: z.string().max(64), options: texts, precision, device: runDevice, fused: z.boolean() },
  schedule: z.enum(Object.keys(SCHEDULES) as [ScheduleKind, ...ScheduleKind[]]),
  ...{ prompt: z.string().max(10_000), writes: z.boolean(), fields: texts },
});

export const trainPart = documentPart<TrainSlice>()({
  name: "train",
  of: "window",
  schema: z.object({ form, paths: z.array(text).max(PLACES.length).default([]) }),
  save({ trainForm }) {
    if (trainForm === null) return null;
    const { data, model, checkpoint, resume, output, overwrite: _, ...own } = trainForm;
    return { form: own, paths: [data, model, checkpoint, resume, output] };
  },
  restore({ form: own, paths }, { set }) {
    const [data = "", model = "", checkpoint = "", resume = "", output = ""] = paths;
    // To write over a file is decided anew.
    set({ trainForm: { ...own, data, model, checkpoint, resume, output, overwrite: false } });
  },
});
