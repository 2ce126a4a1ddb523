// What a file says of how its model is drawn from.
import { expect, test } from "vitest";
import { numberEntry, stringEntry } from "../../formats/gguf/encode.ts";
import { Metadata } from "../../formats/gguf/metadata.ts";
import type { MetadataEntry } from "../../formats/gguf/values.ts";
import { samplingHints } from "./hints.ts";

const hintsOf = (...entries: MetadataEntry[]) => samplingHints(new Metadata("t", entries));
const float = (name: string, value: number) => numberEntry(`general.sampling.${name}`, "f32", value);
const integer = (name: string, value: number) => numberEntry(`general.sampling.${name}`, "i32", value);

test("hints are numbers as their author wrote them", () => {
  expect(hintsOf()).toEqual({ values: {}, notes: [] });
  const values = [
    ...[
      float("temp", 0.6),
      integer("top_k", 20),
      float("top_p", 0.8),
      float("min_p", 0.05),
      float("penalty_repeat", 1.05),
    ],
    ...[integer("penalty_last_n", 128), float("xtc_probability", 0.5), float("xtc_threshold", 0.1)],
    ...[integer("mirostat", 2), float("mirostat_tau", 4), float("mirostat_eta", 0.2)],
  ];
  expect(hintsOf(...values).values).toEqual({
    ...{ temperature: 0.6, topK: 20, topP: 0.8, minP: 0.05, repeatPenalty: 1.05, repeatLast: 128 },
    ...{ xtcProbability: 0.5, xtcThreshold: 0.1, mirostat: 2, mirostatTau: 4, mirostatEta: 0.2 },
  });
});

test("no limit and the whole context are what -1 means", () => {
  expect(hintsOf(integer("top_k", -1), integer("penalty_last_n", -1)).values).toEqual({
    topK: 0,
    repeatLast: 1_000_000,
  });
});

test("hints that make no sense are left out with a sentence, and hints of another kind altogether", () => {
  const { values, notes } = hintsOf(
    float("top_p", 1.5),
    float("top_k", 2.5),
    stringEntry("general.sampling.temp", "hot"),
  );
  expect(values).toEqual({});
  expect(notes).toEqual([
    "general.sampling.top_k is left out: got 2.5, expected a whole number from 0 to 1000000.",
    "general.sampling.top_p is left out: got 1.5, expected a number from 0 to 1.",
  ]);
});

test("a sequence switches off the steps that it does not name", () => {
  const { values, notes } = hintsOf(
    float("top_p", 0.8),
    stringEntry("general.sampling.sequence", "top_k;Temp;top-n-sigma;constructor"),
  );
  expect(values).toEqual({ topP: 1, minP: 0, repeatPenalty: 1, xtcProbability: 0 });
  expect(notes.join(" ")).toContain('steps that are not here: "top_n_sigma", "constructor"');
});
