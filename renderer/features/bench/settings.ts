/** What the matrix editor holds: lists as they are typed, what they ask the engine for, presets, and how long it may take. */
import { readNumberList } from "../../../main/contract/numberList.ts";
import type { BenchInput, BenchResult } from "../../../main/contract/views/bench.ts";
import { LEAST_REPEATS, MOST_CELLS } from "../../../main/contract/views/bench.ts";
import type { CacheType } from "../../../main/contract/views/common.ts";
import type { Precision } from "../../../main/contract/views/graph.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";

export interface BenchSettings {
  readonly device: RunDevice;
  /** Measured in turn with the first. */
  readonly otherDevices: readonly RunDevice[];
  /** Files of further models. */
  readonly otherModels: readonly string[];
  /** Lists such as "128, 512" or "1-4". */
  readonly promptTokens: string;
  readonly generateTokens: string;
  readonly depth: string;
  /** Empty: all. */
  readonly threads: string;
  /** In which floats the CPU engine or MLX computes. */
  readonly precision: Precision;
  /** Element type of keys and values; null: the device's own. */
  readonly cacheType: CacheType | null;
  readonly repeats: number;
  readonly warmup: number;
  /** As many repeats as fit into this time, at most `repeats`; 0: all of them. */
  readonly seconds: number;
}

export const INITIAL_SETTINGS: BenchSettings = {
  device: DEFAULT_DEVICE,
  otherDevices: [],
  otherModels: [],
  promptTokens: "512",
  generateTokens: "128",
  depth: "0",
  threads: "",
  precision: "f32",
  cacheType: null,
  repeats: LEAST_REPEATS,
  warmup: 1,
  seconds: 0,
};

export type ListName = "promptTokens" | "generateTokens" | "depth" | "threads";

type Lists = { readonly [K in ListName]: readonly number[] };

export type Asked =
  | { readonly ok: true; readonly lists: Lists; readonly cells: number }
  | { readonly ok: false; readonly problem: string; readonly list: ListName | null };

/** Without a known context, as many as any model has. */
const MOST_TOKENS = 65_536;

/** `trained`: positions that the model knows; null where its file does not say. */
export function askedOf(settings: BenchSettings, trained: number | null): Asked {
  const most = Math.max(1, (trained ?? MOST_TOKENS + 1) - 1);
  const read: Record<ListName, readonly number[]> = { promptTokens: [], generateTokens: [], depth: [], threads: [] };
  for (const name of ["promptTokens", "generateTokens", "depth", "threads"] as const) {
    if (name === "threads" && settings.threads.trim() === "") continue;
    const list = name === "threads" ? readNumberList(settings[name], 1, 1024) : readNumberList(settings[name], 0, most);
    if (!list.ok) return { ok: false, problem: list.problem, list: name };
    read[name] = list.values;
  }
  const tests = [...read.promptTokens, ...read.generateTokens].filter((tokens) => tokens > 0);
  if (tests.length === 0) return { ok: false, problem: "Both are 0: there is nothing to measure.", list: null };
  if (Math.max(...read.depth) + Math.max(...tests) > most)
    return { ok: false, problem: `With its depth this passes the model's ${most} tokens.`, list: "depth" };
  const subjects =
    (1 + settings.otherModels.length) * (1 + settings.otherDevices.length) * Math.max(1, read.threads.length);
  const cells = subjects * read.depth.length * tests.length;
  if (cells > MOST_CELLS)
    return { ok: false, problem: `These are ${cells} cells, and at most ${MOST_CELLS} are measured.`, list: null };
  return { ok: true, lists: read, cells };
}

export function requestOf(settings: BenchSettings, lists: Lists): Omit<BenchInput, "model"> {
  return {
    device: [settings.device, ...settings.otherDevices.filter((device) => device !== settings.device)],
    promptTokens: [...lists.promptTokens],
    generateTokens: [...lists.generateTokens],
    depth: [...lists.depth],
    threads: lists.threads.length === 0 ? null : [...lists.threads],
    precision: settings.precision,
    cacheType: settings.cacheType,
    repeats: settings.repeats,
    warmup: settings.warmup,
    seconds: settings.seconds === 0 ? null : settings.seconds,
  };
}

/** Seconds by the rates of an earlier result of the model; null where that has not measured what is asked. */
export function expectedSeconds(
  settings: BenchSettings,
  asked: Extract<Asked, { ok: true }>,
  last: Pick<BenchResult, "tests"> | undefined,
): number | null {
  if (settings.seconds > 0) return settings.seconds;
  const rate = (name: "pp" | "tg"): number | undefined => last?.tests.find(({ test }) => test === name)?.rate.value;
  const total = (name: "pp" | "tg", tokens: readonly number[]): number => {
    const sum = tokens.reduce((all, each) => all + each, 0);
    return sum === 0 ? 0 : sum / (rate(name) ?? NaN);
  };
  const { promptTokens, generateTokens, depth } = asked.lists;
  const tests = promptTokens.concat(generateTokens).filter((tokens) => tokens > 0).length;
  const each = total("pp", promptTokens) + total("tg", generateTokens);
  const subjects = asked.cells / (tests * depth.length);
  const round = subjects * (each * depth.length + total("pp", depth));
  const seconds = round * (settings.repeats + settings.warmup);
  return Number.isFinite(seconds) ? seconds : null;
}

export const PRESETS = ["quick", "matrix", "threads"] as const;
export type Preset = (typeof PRESETS)[number];

/** A shorter context is not worth a second depth. */
const LEAST_DEEP = 64;
const QUICK_SECONDS = 30;
const QUICK_REPEATS = 40;

/** `trained`: as for `askedOf`. `threads`: how many run at once. */
export function presetOf(preset: Preset, trained: number | null, threads: number): Partial<BenchSettings> {
  const room = (tokens: number, part: number): number =>
    Math.max(1, Math.min(tokens, Math.floor(((trained ?? MOST_TOKENS) - 1) / part)));
  const alike = { warmup: 1, otherDevices: [], otherModels: [] };
  switch (preset) {
    case "quick":
      return {
        ...alike,
        ...{ promptTokens: String(room(512, 2)), generateTokens: String(room(64, 2)), depth: "0", threads: "" },
        ...{ seconds: QUICK_SECONDS, repeats: QUICK_REPEATS },
      };
    case "matrix":
      return {
        ...alike,
        ...{ promptTokens: `${room(128, 8)}, ${room(512, 4)}`, generateTokens: String(room(32, 8)) },
        ...{ depth: trained !== null && trained < LEAST_DEEP ? "0" : `0, ${room(2048, 2)}` },
        ...{ threads: "", seconds: 0, repeats: LEAST_REPEATS },
      };
    case "threads":
      return {
        ...alike,
        ...{ promptTokens: String(room(128, 4)), generateTokens: String(room(32, 4)), depth: "0" },
        ...{ threads: sweepText(threads), seconds: 0, repeats: LEAST_REPEATS },
      };
  }
}

/** Every number where there are few, else every second one from two on. */
const sweepText = (threads: number): string =>
  threads === 1 ? "1" : threads <= 8 ? `1-${threads}` : `1, 2-${threads}+2`;
