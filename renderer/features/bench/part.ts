/** What a session keeps of benchmarks: the matrix, and the newest results of whatever model. */
import { z } from "zod";
import type { BenchResult } from "../../../main/contract/views/bench.ts";
import { benchDone } from "../../../main/contract/views/bench.ts";
import { fileName } from "../../../main/contract/views/session.ts";
import { cacheType } from "../../../main/contract/views/common.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { documentPart } from "../../session/document.ts";
import type { BenchEntry, BenchSlice } from "./slice.ts";
import { MOST_RESULTS } from "./slice.ts";

const list = z.string().max(1000);
const settings = z.object({
  device: runDevice,
  otherDevices: z.array(runDevice),
  ...{ promptTokens: list, generateTokens: list, depth: list, threads: list },
  precision: precision.default("f32"),
  cacheType: cacheType.nullable().default(null),
  ...{ repeats: z.number(), warmup: z.number(), seconds: z.number() },
});
const entry = z.object({ id: z.number(), at: z.number(), model: z.string(), result: benchDone });

/** Letters that results may take of a session's document, and one result with the time of each token. */
const MOST_LETTERS = 1_000_000;
const MOST_OF_ONE = 100_000;

export const benchPart = documentPart<BenchSlice>()({
  name: "bench",
  of: "window",
  schema: z.object({ settings, paths: z.array(z.string()).default([]), results: z.array(entry).max(MOST_RESULTS) }),
  save: ({ benchSettings: { otherModels, ...own }, benchResults }) => ({
    settings: own,
    paths: otherModels,
    results: newestThatFit(benchResults),
  }),
  restore: ({ settings: own, paths: otherModels, results: benchResults }, { set }) =>
    set({ benchSettings: { ...own, otherModels }, benchResults }),
});

/** The time of each token is for exports: a large result is kept without. */
const short = (result: BenchResult): BenchResult =>
  JSON.stringify(result).length <= MOST_OF_ONE
    ? result
    : { ...result, tests: result.tests.map((test) => ({ ...test, tokenSeconds: [] })) };

/** llama-bench's JSON with the names of files instead of their paths, which stay on this machine. */
const namesOnly = (json: string): string =>
  json.replaceAll(
    /("model_filename":\s*)("(?:[^"\\]|\\.)*")/gu,
    (_, field: string, path: string) => field + JSON.stringify(fileName(JSON.parse(path) as string)),
  );

function newestThatFit(results: readonly BenchEntry[]): readonly BenchEntry[] {
  const kept: BenchEntry[] = [];
  let letters = 0;
  for (const each of results) {
    const result = short(each.result);
    const saved = { ...each, result: { ...result, json: namesOnly(result.json) } };
    letters += JSON.stringify(saved).length;
    if (letters > MOST_LETTERS) break;
    kept.push(saved);
  }
  return kept;
}
