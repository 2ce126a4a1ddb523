// Going back in a session whose states are no caches: a reused prefix gives the logits of a fresh run.
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Rewind } from "../ir/rewind.ts";
import type { GraphSession } from "../ir/session.ts";
import { graphRewind, REWINDS } from "../ir/rewind.ts";
import { RECURRENT, recurrentModel } from "../testing/recurrentModel.ts";
import { tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { DecoderSession } from "./decoderSession.ts";
import { referenceDevice } from "./devices/reference.ts";
import type { GenerateEvent } from "./generate.ts";
import { generate, GREEDY } from "./generate.ts";

const { vocabulary, chunk, capacity } = RECURRENT;
const open = (states: Rewind, asked: Rewind = states): DecoderSession => {
  const compiled = referenceDevice({ param: tinyParam }).compile(recurrentModel(states));
  return new DecoderSession(compiled.open(), { capacity, vocabulary, chunk, rewind: asked });
};

const PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7];
const last = (session: DecoderSession, token: number): Promise<Float32Array> => session.logits([token], [0]);

/** Logits behind these tokens, from nothing. */
async function fresh(tokens: readonly number[]): Promise<Float32Array> {
  const session = open("checkpoint");
  await session.feed(tokens.slice(0, -1));
  return last(session, tokens.at(-1)!);
}
async function after(session: DecoderSession, tokens: readonly number[]): Promise<Float32Array> {
  const kept = session.reuse(tokens);
  expect(session.tokens).toEqual(tokens.slice(0, kept));
  if (tokens.length - kept > 1) await session.feed(tokens.slice(kept, -1));
  return last(session, tokens.at(-1)!);
}
const near = (got: Float32Array, expected: Float32Array): void =>
  got.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 4));

describe("how states go back", () => {
  it("is said by each, and by the graph as by the one that can the least", () => {
    expect(REWINDS.map((rewind) => graphRewind(recurrentModel(rewind)))).toEqual([...REWINDS]);
    expect(graphRewind(tinyModel("llama"))).toBe("positions");
  });
});

describe.each(["checkpoint", "none"] as const)("a recurrent model (%s)", (rewind) => {
  it("gives the same logits over a reused prefix as from nothing", async () => {
    const other = [...PROMPT.slice(0, 6), 40, 41, 42];
    const session = open(rewind);
    await session.feed(PROMPT);
    near(await after(session, other), await fresh(other));
    // The same again, and one that goes on from it.
    near(await after(session, other), await fresh(other));
    near(await after(session, [...other, 1, 2]), await fresh([...other, 1, 2]));
    // The test can tell: states that are taken for caches give other logits.
    const wrong = open(rewind, "positions");
    await wrong.feed(PROMPT);
    const got = await after(wrong, other);
    const expected = await fresh(other);
    expect(Math.max(...got.map((value, i) => Math.abs(value - expected[i]!)))).toBeGreaterThan(0.01);
  });

  it("goes back to any place, and starts over", async () => {
    const session = open(rewind);
    await session.feed(PROMPT);
    for (const count of [7, 4, 0]) {
      session.truncate(count);
      near(await last(session, 11), await fresh([...PROMPT.slice(0, count), 11]));
      session.truncate(count);
    }
    expect(await session.score(PROMPT)).toEqual(await open(rewind).score(PROMPT));
  });

  it("forgets what was drawn in vain, and what a cancel cut off", async () => {
    const session = open(rewind);
    const first = await session.feed(PROMPT, {
      sample: { ...GREEDY, recent: new Int32Array(0), window: 0, seed: 0, step: 0, alternatives: 0 },
    });
    const drawn: number[] = [];
    const sampling = { ...GREEDY, recent: new Int32Array(0), seed: 0, alternatives: 0 };
    for await (const token of session.draw(first!.id, { count: 9, sampling: (_, step) => ({ ...sampling, step }) })) {
      drawn.push(token.id);
      if (drawn.length === 3) break;
    }
    const held = [...PROMPT, first!.id, ...drawn.slice(0, 2)];
    expect(session.tokens).toEqual(held);
    near(await last(session, 20), await fresh([...held, 20]));
    await expect(session.feed([1, 2], { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
    near(await last(session, 21), await fresh([...held, 20, 21]));
  });

  it("generates the same in a second turn as in a new session", async () => {
    const text = {
      endings: new Set<number>(),
      detokenizer: () => ({ push: String, open: () => false, flush: () => "" }),
    };
    const ids = async (session: DecoderSession, prompt: readonly number[]): Promise<number[]> => {
      const events: GenerateEvent[] = [];
      for await (const event of generate(session, text, { prompt, sampling: GREEDY, maxTokens: 6 })) events.push(event);
      return events.flatMap((event) => (event.kind === "token" ? [event.id] : []));
    };
    const session = open(rewind);
    const answer = await ids(session, PROMPT);
    const second = [...PROMPT, ...answer, 30, 31];
    expect(await ids(session, second)).toEqual(await ids(open(rewind), second));
    expect(await ids(session, PROMPT)).toEqual(answer);
  });
});

it("a checkpoint that cannot be put back, because the caches are lost, is run again from nothing", async () => {
  const compiled = referenceDevice({ param: tinyParam }).compile(recurrentModel("checkpoint"));
  const inner = compiled.open();
  let asked = 0;
  const losing: GraphSession = {
    threads: 1,
    run: (request, signal) => inner.run(request, signal),
    fork: (positions) => inner.fork(positions),
    save: (positions) => inner.save(positions),
    restore: (positions, state) => inner.restore(positions, state),
    reset: () => inner.reset(),
    bytes: (positions) => inner.bytes(positions),
    dispose: () => inner.dispose(),
    checkpoints: {
      take: () => inner.save(0),
      putBack: () => {
        asked++;
        return Promise.reject(new WorkbenchError("RUN_FAILED", "lost"));
      },
    },
  };
  const session = new DecoderSession(losing, { capacity, vocabulary, chunk, rewind: "checkpoint" });
  await session.feed(PROMPT);
  near(await after(session, [...PROMPT, 12]), await fresh([...PROMPT, 12]));
  await session.feed([1, 2, 3]);
  near(await after(session, [...PROMPT, 13]), await fresh([...PROMPT, 13]));
  expect(asked).toBe(1);
});

describe("a turn says what ran again", () => {
  const text = {
    endings: new Set<number>(),
    detokenizer: () => ({ push: String, open: () => false, flush: () => "" }),
  };
  const turn = async (session: DecoderSession, prompt: readonly number[]) => {
    for await (const event of generate(session, text, { prompt, sampling: GREEDY, maxTokens: 2 }))
      if (event.kind === "done") return event.stats;
    throw new Error("no end");
  };

  it.each([
    ["checkpoint", 9, "a recurrent state goes back to its checkpoints only"],
    ["none", 0, "the model's states cannot go back"],
  ] as const)("%s", async (rewind, kept, because) => {
    const session = open(rewind);
    await turn(session, PROMPT);
    // The first prompt and another answer: a checkpoint stands before the prompt's last token.
    const edited = await turn(session, [...PROMPT, 40, 41]);
    expect([edited.reusedTokens, edited.recomputed]).toEqual([kept, { tokens: PROMPT.length - kept, because }]);
    const shorter = await turn(session, [...PROMPT.slice(0, 6), 40]);
    expect([shorter.reusedTokens, shorter.recomputed]).toEqual([0, { tokens: 6, because }]);
    expect((await turn(session, [1, 2])).recomputed).toBeUndefined();
  });

  it("a prompt in many runs keeps the checkpoints of the turns before it", async () => {
    const session = open("checkpoint");
    await turn(session, PROMPT);
    await turn(session, [...PROMPT, ...Array.from({ length: 30 }, (_, i) => i)]);
    expect(session.reuse([...PROMPT, 47])).toBe(PROMPT.length - 1);
  });
});

describe("copies of the states", () => {
  it("are those behind the session's tokens", async () => {
    const session = open("checkpoint");
    await session.feed(PROMPT);
    session.truncate(6);
    const fork = await session.fork();
    const other = open("checkpoint");
    await other.restore(await session.save());
    for (const each of [fork, other]) near(await last(each, 12), await fresh([...PROMPT.slice(0, 6), 12]));
    // The fork has the checkpoints of its origin, and goes its own way.
    near(await after(fork, [...PROMPT.slice(0, 3), 5]), await fresh([...PROMPT.slice(0, 3), 5]));
    expect(session.tokens).toEqual(PROMPT.slice(0, 6));
  });

  it("keep most of a prompt: only what is behind the last checkpoint runs again", async () => {
    const session = open("checkpoint");
    await session.feed(PROMPT);
    await session.feed([1, 2, 3]);
    expect(session.reuse([...PROMPT, 1, 9, 9])).toBe(PROMPT.length - 1);
    expect(open("none").reuse(PROMPT)).toBe(0);
  });

  it("are refused where no copy can be put back", async () => {
    const session = open("none");
    await session.feed(PROMPT);
    await expect(session.fork()).rejects.toMatchObject({ code: "UNSUPPORTED_TARGET" });
    await expect(session.save()).rejects.toMatchObject({ code: "UNSUPPORTED_TARGET" });
  });
});
