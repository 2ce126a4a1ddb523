// The runtime without a device: stop strings, statistics, and generation over a session that answers from a script.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { TokenResult, SampledToken, GraphSession, SampleOptions, TokenRun, TokenRunner } from "../ir/session.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { streamingDetokenizer } from "../tokenizer/detokenizer.ts";
import { runBench } from "./bench.ts";
import { DecoderSession } from "./decoderSession.ts";
import { inputsOf, symbolReader, symbolsOf } from "./device.ts";
import type { GenerateEvent, GenerateOptions } from "./generate.ts";
import { GREEDY, GREEDY_DRAW, generate } from "./generate.ts";
import { deviation, median, medianInterval, quantile, seededRandom } from "./statistics.ts";
import { LEAST_REPEATS, intervalName } from "../contract/views/bench.ts";
import { StopText } from "./stopText.ts";

describe("stop strings", () => {
  const run = (
    stops: readonly string[],
    pieces: readonly string[],
  ): { text: string; tokens: number[]; found: string | undefined } => {
    const scan = new StopText<number>(stops);
    const shown: { token: number; text: string }[] = [];
    for (const [i, piece] of pieces.entries()) {
      const { ready, found } = scan.push(i, piece);
      shown.push(...ready);
      if (found !== undefined)
        return { text: shown.map((s) => s.text).join(""), tokens: shown.map((s) => s.token), found };
    }
    shown.push(...scan.flush());
    return { text: shown.map((s) => s.text).join(""), tokens: shown.map((s) => s.token), found: undefined };
  };
  test("across tokens: what stands before is given out, the rest is not", () => {
    expect(run(["STOP"], ["ab", "cS", "TO", "P!"])).toEqual({ text: "abc", tokens: [0, 1], found: "STOP" });
  });
  test("a beginning that does not become one is given out after all", () => {
    expect(run(["STOP"], ["ST", "O", "ne"])).toEqual({ text: "STOne", tokens: [0, 1, 2], found: undefined });
  });
  test("a text that ends in a beginning keeps it", () => {
    expect(run(["\n\n"], ["a", "\n"])).toEqual({ text: "a\n", tokens: [0, 1], found: undefined });
  });
  test("the earliest of several wins, and a repeated beginning is seen", () => {
    expect(run(["bc", "ab"], ["xabc"])).toEqual({ text: "x", tokens: [0], found: "ab" });
    expect(run(["aab"], ["a", "a", "a", "b"])).toEqual({ text: "a", tokens: [0], found: "aab" });
  });
  test("an empty one stops nothing; of two that begin at one place the first named is it", () => {
    expect(run([""], ["a", "b"])).toEqual({ text: "ab", tokens: [0, 1], found: undefined });
    expect(run(["ab", "a"], ["xab"]).found).toBe("ab");
    expect(run(["a", "ab"], ["xab"]).found).toBe("a");
  });
  test("a text that ends inside a character gives its last token what is left, also behind whole ones", () => {
    const scan = new StopText<number>(["xy"]);
    expect(scan.push(0, "a").ready).toEqual([{ token: 0, text: "a" }]);
    expect(scan.push(1, "b", true).ready).toEqual([]);
    expect(scan.push(2, "", true).ready).toEqual([{ token: 1, text: "b" }]);
    expect(scan.push(3, "é").ready).toEqual([
      { token: 2, text: "" },
      { token: 3, text: "é" },
    ]);
    expect(scan.push(4, "", true).ready).toEqual([]);
    expect(scan.flush("\ufffd")).toEqual([{ token: 4, text: "\ufffd" }]);
    expect(scan.flush()).toEqual([]);
    expect(scan.push(5, "x", true).ready).toEqual([]);
    expect(scan.push(6, "y")).toEqual({ ready: [], found: "xy" });
  });
  test("any stops in any text: what stands before the first that is complete, and all of it without one", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 3 }), text, (stops, whole) => {
        const real = stops.filter((stop) => stop !== "");
        const ends = Array.from({ length: whole.length + 1 }, (_, n) => n);
        const end = ends.find((n) => real.some((stop) => whole.slice(0, n).includes(stop)));
        const starts = real.map((stop) => whole.slice(0, end).indexOf(stop)).filter((at) => at >= 0);
        const expected = end === undefined ? whole : whole.slice(0, Math.min(...starts));
        expect(run(stops, [...whole]).text).toBe(expected);
      }),
    );
  });
});

test("median, quantiles and deviation", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(quantile([0, 10], 0.25)).toBe(2.5);
  expect(deviation([2, 4, 4, 4, 5, 5, 7, 9])).toBeCloseTo(2.138089935, 8);
});

test("the interval of the median has the ranks of the published tables", () => {
  const ranksOf = (n: number): readonly number[] => {
    const { low, high } = medianInterval(Array.from({ length: n }, (_, i) => n - i));
    return [low, high];
  };
  // 95 % intervals of the median by the sign test; below six values, their range.
  for (const n of [1, 2, 5, 6, 8]) expect(ranksOf(n)).toEqual([1, n]);
  for (const [n, low, high] of [
    [9, 2, 8],
    [10, 2, 9],
    [15, 4, 12],
    [20, 6, 15],
    [30, 10, 21],
    [50, 18, 33],
    [100, 40, 61],
  ] as const)
    expect(ranksOf(n)).toEqual([low, high]);
  const [low = 0, high = 0] = ranksOf(5000);
  // By the normal distribution, half of 5000 ± 1.96 · √5000 / 2.
  expect(low).toBeGreaterThan(2425);
  expect(low).toBeLessThan(2435);
  expect(low + high).toBe(5001);
  expect(medianInterval([5])).toEqual({ low: 5, high: 5 });
});

test("an interval is called one of 95 % from the number of repeats on that holds the median so often", () => {
  const random = seededRandom(7);
  const held = (n: number): number => {
    const rounds = 20_000;
    let hits = 0;
    for (let i = 0; i < rounds; i++) {
      // Exponential times, as skewed as those of a machine that others use: their median is ln 2.
      const { low, high } = medianInterval(Array.from({ length: n }, () => -Math.log(1 - random())));
      if (low <= Math.LN2 && Math.LN2 <= high) hits++;
    }
    return hits / rounds;
  };
  expect(held(LEAST_REPEATS - 1)).toBeLessThan(0.945);
  for (const n of [LEAST_REPEATS, 7, 9, 12]) expect(held(n), `${n} repeats`).toBeGreaterThan(0.95);
  expect([intervalName(LEAST_REPEATS - 1), intervalName(LEAST_REPEATS)]).toEqual(["range", "95 % interval"]);
});

test("symbols follow from the inputs, and sizes that do not fit are refused", () => {
  const builder = new GraphBuilder(opTable, "g");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", ["T", 4]));
  builder.output("y", g.add([x, x]));
  const graph = builder.finish();
  expect(symbolsOf(inputsOf(graph), { inputs: { x: new Float32Array(12) } })).toEqual({ T: 3 });
  expect(() => symbolsOf(inputsOf(graph), { inputs: { x: new Float32Array(5) } })).toThrow(/do not fill/);
  const read = symbolReader([
    { name: "ids", type: tensor("i32", ["T"]) },
    { name: "mask", type: tensor("f32", ["T", "S", 2]) },
    { name: "wide", type: tensor("f32", ["2*T", "U"]) },
  ]);
  const inputs = { mask: new Float32Array(12), wide: new Float32Array(8) };
  expect(read({ inputs, follow: "ids" })).toEqual({ T: 1, S: 6 });
  expect(read({ inputs: { ...inputs, ids: new Int32Array(2) } })).toEqual({ T: 2, S: 3 });
  expect(read({ inputs, symbols: { S: 3 } })).toEqual({ T: 2, S: 3 });
  expect(() => read({ inputs, symbols: { T: 5 } })).toThrow(/do not fill/);
});

/** A "model" whose next token is always the last one plus one; it counts what it was asked to run. */
class Script implements GraphSession {
  readonly threads = 1;
  readonly tokens: TokenRunner;
  readonly ran: number[][] = [];
  /** Tokens of each run that drew. */
  readonly lengths: number[] = [];
  /** What the penalty counted, for each token drawn. */
  readonly counted: number[][] = [];
  readonly pasts: number[] = [];
  delay = 0;
  logprob = -1;
  /** Seconds that a step is said to take. */
  pace = 0.01;
  #queue: Promise<unknown> = Promise.resolve();
  #drawn: number[] = [];
  constructor(how: "alone" | "follows" | "series" = "alone") {
    const run = (request: TokenRun, signal?: AbortSignal): Promise<TokenResult> => this.run(request, signal);
    this.tokens = { follows: how !== "alone", series: how === "series", steps: [], run };
  }
  run(request: TokenRun, signal?: AbortSignal): Promise<TokenResult> {
    const result = this.#queue.then(async () => this.#one(request, signal));
    this.#queue = result.catch(() => undefined);
    return result;
  }
  async #one(request: TokenRun, signal?: AbortSignal): Promise<TokenResult> {
    const { sample, series, follow } = request;
    const drawn = this.#drawn;
    this.#drawn = [];
    if (follow !== undefined && drawn.length === 0) throw new Error("nothing to follow");
    const counted = [...(sample?.recent ?? []), ...(follow === undefined ? [] : drawn)];
    let past = (request.inputs["past"] as Int32Array)[0]!;
    let tokens = follow === undefined ? [...(request.inputs["tokens"] as Int32Array)] : drawn.slice(-1);
    const given: SampledToken[] = [];
    for (;;) {
      if (this.delay > 0) await new Promise((resolve) => setTimeout(() => resolve(undefined), this.delay));
      if (signal?.aborted === true) throw new WorkbenchError("CANCELLED", "Cancelled.");
      this.ran.push(tokens);
      this.pasts.push(past);
      const id = ((tokens.at(-1) ?? 0) + 1) % 100;
      if (sample === undefined) return { seconds: 0, outputs: {} };
      this.counted.push(sample.window === 0 ? [] : counted.slice(-(sample.window ?? counted.length)));
      given.push({ id, logprob: this.logprob, top: [] });
      if (given.length === (series?.count ?? 1) || series?.endings.includes(id) === true) break;
      counted.push(id);
      past += tokens.length;
      tokens = [id];
    }
    // Nothing follows an ending.
    this.#drawn = series?.endings.includes(given.at(-1)!.id) === true ? [] : given.map(({ id }) => id);
    this.lengths.push(given.length);
    return { seconds: given.length * this.pace, outputs: {}, ...(series ? { series: given } : { sampled: given[0]! }) };
  }
  fork = async (): Promise<GraphSession> => Promise.resolve(this);
  save = async (): Promise<Uint8Array<ArrayBuffer>> => Promise.resolve(new Uint8Array(0));
  restore = async (): Promise<void> => Promise.resolve();
  reset = async (): Promise<void> => Promise.resolve();
  bytes = (positions: number): { reserved: number; states: number; used: number } => ({
    reserved: 0,
    states: 0,
    used: positions,
  });
  dispose(): void {
    this.ran.length = 0;
  }
}

const letters = {
  endings: new Set([90]),
  detokenizer: () => ({ push: (id: number) => String.fromCharCode(33 + id), open: () => false, flush: () => "" }),
};
const sessionOver = (script: Script, capacity = 64): DecoderSession =>
  new DecoderSession(script, { capacity, vocabulary: 100, chunk: 4, rewind: "positions" });
async function collect(session: DecoderSession, options: Partial<GenerateOptions>): Promise<GenerateEvent[]> {
  const events: GenerateEvent[] = [];
  for await (const event of generate(session, letters, {
    prompt: [1, 2, 3],
    sampling: GREEDY,
    maxTokens: 5,
    ...options,
  }))
    events.push(event);
  return events;
}
const ids = (events: readonly GenerateEvent[]): number[] =>
  events.flatMap((event) => (event.kind === "token" ? [event.id] : []));
const reason = (events: readonly GenerateEvent[]): string | undefined => {
  const last = events.at(-1);
  return last?.kind === "done" ? last.reason : undefined;
};

test("a benchmark fills the cache up to its depth, once, and measures behind it", async () => {
  const script = new Script();
  const session = sessionOver(script);
  const tests = await runBench(session, { promptTokens: 3, generateTokens: 2, depth: 5, repeats: 2, warmup: 0 });
  // Four tokens at once: five fill the cache in two runs. Then the prompt, and two steps, all at position five, twice.
  expect(script.pasts).toEqual([0, 4, 5, 5, 6, 5, 5, 6]);
  expect(script.ran[0]).toHaveLength(4);
  expect(tests.map(({ test: name, tokens, depth, rates }) => [name, tokens, depth, rates.length])).toEqual([
    ["pp", 3, 5, 2],
    ["tg", 2, 5, 2],
  ]);
  // The same prompt in the same round of every benchmark.
  const other = new Script();
  await runBench(sessionOver(other), { promptTokens: 3, generateTokens: 0, depth: 5, repeats: 1, warmup: 0 });
  expect(other.ran).toEqual(script.ran.slice(0, 3));
});

describe("series of tokens", () => {
  const drawing = async (script: Script, options: Partial<GenerateOptions>, capacity = 200) => {
    const session = sessionOver(script, capacity);
    const events = await collect(session, { maxTokens: 200, ...options });
    return { ids: ids(events), reason: reason(events), events, session };
  };
  const upTo = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

  test("grow to what takes 50 ms, and end with the answer", async () => {
    const script = new Script("series");
    const { ids: given } = await drawing(script, { maxTokens: 20 });
    expect(given).toEqual(upTo(4, 23));
    // The first token is drawn behind the prompt. A run ahead is asked for before the one before it says how long it took.
    expect(script.lengths).toEqual([1, 1, 1, 2, 2, 4, 4, 5]);
    script.lengths.length = 0;
    script.pace = 0.06;
    await drawing(script, { maxTokens: 6 });
    expect(script.lengths).toEqual([1, 1, 1, 1, 1, 1]);
    script.lengths.length = 0;
    script.pace = 0;
    await drawing(script, { maxTokens: 300, prompt: [1], ignoreEnd: true }, 400);
    expect(Math.max(...script.lengths)).toBe(64);
  });

  test.each([
    ["in the middle of one", 61, 4],
    ["as the last of one", 60, 5],
    ["as the only one", 88, 1],
  ])("an ending %s ends the answer, and nothing is run behind it", async (_, prompt, length) => {
    const script = new Script("series");
    const { ids: given, reason: why, session } = await drawing(script, { prompt: [prompt] });
    expect(given).toEqual(upTo(prompt + 1, 89));
    expect(why).toBe("stop");
    expect(session.tokens).toEqual(upTo(prompt, 89));
    expect(script.ran.flat()).toEqual(upTo(prompt, 89));
    expect(script.lengths.at(-1)).toBe(length);
  });

  test("endings that are ignored are tokens like others", async () => {
    const ignored = await drawing(new Script("series"), { prompt: [60], ignoreEnd: true, maxTokens: 36 });
    expect(ignored.ids).toEqual(upTo(61, 96));
  });

  test("draws end behind an ending, however often they are asked for", async () => {
    for (const first of [60, 61, 88]) {
      const session = sessionOver(new Script("series"), 200);
      const sampling = (): SampleOptions => GREEDY_DRAW;
      const drawn: number[] = [];
      for await (const { id } of session.draw(first, { count: 100, sampling, endings: Int32Array.of(90) }))
        drawn.push(id);
      expect(drawn).toEqual(upTo(first + 1, 90));
    }
  });

  test("a stop string, a consumer that leaves and a full context leave what was given out", async () => {
    const stop = [String.fromCharCode(33 + 40, 33 + 41)];
    const stopped = await drawing(new Script("series"), { stop });
    expect(stopped.ids).toEqual(upTo(4, 39));
    expect(stopped.reason).toBe("stop");
    expect(stopped.session.tokens).toEqual([1, 2, ...upTo(3, 40)]);

    const session = sessionOver(new Script("series"), 200);
    for await (const event of generate(session, letters, { prompt: [3], sampling: GREEDY, maxTokens: 90 }))
      if (event.kind === "token" && event.id === 30) break;
    expect(session.tokens).toEqual(upTo(3, 29));

    const full = await drawing(new Script("series"), {}, 40);
    expect(full.reason).toBe("context-full");
    expect(full.session.past).toBe(40);
  });

  test("tokens that come together are told apart by when they were drawn", async () => {
    const script = new Script("series");
    script.pace = 0.002;
    script.delay = 2;
    const { events } = await drawing(script, { maxTokens: 60 });
    const times = events.flatMap((event) => (event.kind === "token" ? [event.stats.generateSeconds] : []));
    expect(Math.max(...script.lengths)).toBeGreaterThan(8);
    // The last series came at once; its tokens are 2 ms apart all the same, as the run said.
    const steps = times.slice(-4).map((time, i, last) => time - (last[i - 1] ?? time));
    for (const step of steps.slice(1)) expect(step).toBeCloseTo(0.002, 3);
  });
});

describe.each(["alone", "follows", "series"] as const)("generation, steps: %s", (how) => {
  const newScript = (): Script => new Script(how);

  test("feeds the prompt in chunks, draws tokens, ends at the length", async () => {
    const script = newScript();
    const session = sessionOver(script);
    const events = await collect(session, { prompt: [1, 2, 3, 4, 5, 6] });
    expect(script.ran.slice(0, 2)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ]);
    expect(events.filter((event) => event.kind === "prompt").map((event) => event.done)).toEqual([0, 4, 6]);
    expect(ids(events)).toEqual([7, 8, 9, 10, 11]);
    expect(reason(events)).toBe("length");
    expect(session.tokens).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("each step knows its place and what the repetition penalty counts", async () => {
    const script = newScript();
    const sampling = { ...GREEDY, repeatPenalty: 1.1, repeatLast: 2 };
    expect(ids(await collect(sessionOver(script), { sampling }))).toEqual([4, 5, 6, 7, 8]);
    expect(script.ran).toEqual([[1, 2, 3], [4], [5], [6], [7]]);
    expect(script.pasts).toEqual([0, 3, 4, 5, 6]);
    expect(script.counted).toEqual([
      [2, 3],
      [3, 4],
      [4, 5],
      [5, 6],
      [6, 7],
    ]);
  });

  test("a text that is cut inside a character still shows that it was", async () => {
    // Every token is the first byte of a character of two.
    const halves = {
      endings: new Set<number>(),
      detokenizer: () => streamingDetokenizer(() => Uint8Array.of(0xc3)),
    };
    const shown: string[] = [];
    const options = { prompt: [1], sampling: GREEDY, maxTokens: 3 };
    for await (const event of generate(sessionOver(newScript()), halves, options))
      if (event.kind === "token") shown.push(event.text);
    expect(shown).toEqual(["", "\ufffd", "\ufffd\ufffd"]);
  });

  test("keeps what the cache shares with the next prompt", async () => {
    const script = newScript();
    const session = sessionOver(script);
    await collect(session, {});
    script.ran.length = 0;
    const events = await collect(session, { prompt: [1, 2, 3, 4, 50] });
    expect(script.ran[0]).toEqual([50]);
    expect(events[0]).toMatchObject({ kind: "prompt", reused: 4 });
  });

  test("stops at an ending token, at a stop string, and when the context is full", async () => {
    expect(reason(await collect(sessionOver(newScript()), { prompt: [88], maxTokens: 20 }))).toBe("stop");
    const session = sessionOver(newScript());
    const stopped = await collect(session, { stop: [String.fromCharCode(33 + 6, 33 + 7)], maxTokens: 20 });
    expect(ids(stopped)).toEqual([4, 5]);
    expect(reason(stopped)).toBe("stop");
    const full = await collect(sessionOver(newScript(), 5), { maxTokens: 20 });
    expect(reason(full)).toBe("context-full");
    expect(ids(full)).toEqual([4, 5, 6]);
  });

  test("a cancel and a consumer that leaves both end the step under way and leave the session whole", async () => {
    const script = newScript();
    const session = sessionOver(script);
    const controller = new AbortController();
    const seen: GenerateEvent[] = [];
    script.delay = 5;
    for await (const event of generate(session, letters, {
      prompt: [1, 2, 3],
      sampling: GREEDY,
      maxTokens: 50,
      signal: controller.signal,
    })) {
      seen.push(event);
      if (ids(seen).length === 3) controller.abort();
    }
    expect(reason(seen)).toBe("cancelled");
    expect(session.tokens.slice(0, 3)).toEqual([1, 2, 3]);
    expect(session.past).toBeLessThanOrEqual(3 + ids(seen).length);
    for await (const event of generate(session, letters, { prompt: [9, 9], sampling: GREEDY, maxTokens: 50 }))
      if (event.kind === "token") break;
    expect(session.tokens).toEqual([9, 9]);
    expect(ids(await collect(session, {}))).toEqual([4, 5, 6, 7, 8]);
  });

  test("logits that are not numbers end the run instead of writing token 0", async () => {
    const script = new Script();
    script.logprob = NaN;
    await expect(collect(sessionOver(script), {})).rejects.toMatchObject({ code: "RUN_FAILED" });
    const scoring = sessionOver(script);
    script.run = async () => ({
      seconds: 0,
      outputs: {},
      scored: { logprobs: Float32Array.of(-1, NaN, 0), best: new Int32Array(3) },
    });
    await expect(scoring.score([1, 2, 3])).rejects.toMatchObject({ code: "RUN_FAILED" });
  });
  test("a prompt that is too long is refused before any of it is read", async () => {
    const script = newScript();
    const prompt = Array.from({ length: 9 }, () => 1);
    await expect(collect(sessionOver(script, 8), { prompt })).rejects.toMatchObject({ code: "RUN_CONTEXT_FULL" });
    expect(script.ran).toEqual([]);
    expect(reason(await collect(sessionOver(script, 9), { prompt }))).toBe("context-full");
  });
  test("bad tokens, an empty prompt and a prompt too long have codes", async () => {
    const codeOf = (prompt: readonly number[]): Promise<unknown> =>
      collect(sessionOver(newScript(), 8), { prompt }).then(
        () => "none",
        (error: unknown) => (error as { code: unknown }).code,
      );
    expect(await codeOf([])).toBe("INPUT_ARGUMENT");
    expect(await codeOf([1, 100])).toBe("INPUT_ARGUMENT");
    expect(await codeOf([0.5])).toBe("INPUT_ARGUMENT");
    expect(await codeOf(Array.from({ length: 9 }, () => 1))).toBe("RUN_CONTEXT_FULL");
  });
});
