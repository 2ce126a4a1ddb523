// Sessions of one plan that run at once, on any engine that joins their steps: each gets what it gets alone, whatever the others do.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { toWireError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { SampledToken, SampleOptions, TokenResult, TokenRun, TokenSession } from "../ir/session.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import type { DecoderModel } from "../runtime/decoderModel.ts";
import type { DecoderSession } from "../runtime/decoderSession.ts";
import { GREEDY_DRAW } from "../runtime/generate.ts";
import { writeTinyGguf } from "./tinyGguf.ts";
import { writePlainSample } from "./toyFiles.ts";

export type OpenFile = (file: GgufFile, path: string) => DecoderModel;

const LIVELY: SampleOptions = { ...GREEDY_DRAW, temperature: 1.2, topK: 20, alternatives: 2 };
const COUNT = 12;

/** Each client with a prompt, a length and a draw of its own. */
const promptOf = (client: number): number[] => Array.from({ length: 3 + client }, (_, i) => (5 + 11 * i + client) % 40);
const sampleOf = (client: number): SampleOptions => (client % 2 === 0 ? GREEDY_DRAW : { ...LIVELY, seed: client });

async function answer(session: DecoderSession, client: number): Promise<SampledToken[]> {
  const sample = sampleOf(client);
  const first = await session.feed(promptOf(client), { sample });
  const drawn: SampledToken[] = [first!];
  const sampling = (_: readonly number[], step: number): SampleOptions => ({ ...sample, step: step + 1 });
  for await (const { id, logprob, top } of session.draw(first!.id, { count: COUNT, sampling }))
    drawn.push({ id, logprob, top });
  return drawn;
}
const ids = (tokens: readonly SampledToken[]): number[] => tokens.map(({ id }) => id);
const largestGap = (a: readonly SampledToken[], b: readonly SampledToken[]): number =>
  Math.max(...a.map(({ logprob }, i) => Math.abs(logprob - b[i]!.logprob)));

const FIRST = 7;
const request = (past: number, count: number, token = FIRST): TokenRun => ({
  inputs: {
    [INPUTS.past]: Int32Array.of(past),
    [INPUTS.rows]: Int32Array.of(0),
    [INPUTS.tokens]: Int32Array.of(token),
  },
  logits: LOGITS,
  sample: GREEDY_DRAW,
  series: { count, token: INPUTS.tokens, position: INPUTS.past, endings: new Int32Array(0) },
});
const drawnIn = ({ series = [] }: TokenResult): number[] => series.map(({ id }) => id);

export function testJointSteps(title: string, openFile: OpenFile, skipped = false): void {
  const folder = mkdtempSync(join(tmpdir(), "rlx-joint-"));
  const closers: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers) await close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = async (path: string): Promise<DecoderModel> => {
    const file = await openGguf(await openFileSource(path));
    const model = openFile(file, path);
    closers.push(() => {
      model.dispose();
      return file.close();
    });
    return model;
  };
  const tiny = async (): Promise<DecoderModel> => {
    const path = join(folder, "tiny.gguf");
    await writeTinyGguf(path);
    return open(path);
  };

  describe.skipIf(skipped)(`sessions at once, ${title}`, () => {
    const toy = (architecture: string) => async (): Promise<DecoderModel> => {
      const path = join(folder, `${architecture}.gguf`);
      await writePlainSample(path, architecture);
      return open(path);
    };
    test.each([
      ["a transformer", tiny],
      ["a mixture of experts", toy("olmoe")],
      ["a model of states", toy("mamba")],
      ["a model of both", toy("qwen35")],
    ] as const)("%s: each of nine gets the tokens that it gets alone", async (_, openModel) => {
      const model = await openModel();
      const clients = Array.from({ length: 9 }, (_unused, client) => client);
      const alone: SampledToken[][] = [];
      for (const client of clients) {
        const session = model.open({ context: 64 });
        alone.push(await answer(session, client));
        session.dispose();
      }
      const sessions = clients.map(() => model.open({ context: 48 + 16 }));
      const together = await Promise.all(sessions.map(answer));
      for (const client of clients) {
        expect(ids(together[client]!)).toEqual(ids(alone[client]!));
        expect(largestGap(together[client]!, alone[client]!)).toBeLessThan(1e-4);
      }
      for (const session of sessions) session.dispose();
    });
  });

  describe.skipIf(skipped)(`a joint step, ${title}`, () => {
    const opened = async (count: number): Promise<TokenSession[]> => {
      const { compiled } = await tiny();
      return Array.from({ length: count }, () => compiled.open({ symbols: { capacity: 512 } }) as TokenSession);
    };

    test("takes in a run that comes later, and goes on without one that is done", async () => {
      const sessions = await opened(3);
      const [one, two, three] = sessions;
      const wanted = drawnIn(await one!.tokens.run(request(0, 120)));
      const runs = [
        one!.tokens.run(request(0, 120)),
        two!.tokens.run(request(0, 40)),
        three!.tokens.run(request(0, 3)),
      ];
      const results = await Promise.all(runs);
      expect(results.map(drawnIn)).toEqual([wanted, wanted.slice(0, 40), wanted.slice(0, 3)]);
      // All three were queued before the first of many steps was done.
      expect(results.map(({ together }) => together)).toEqual([3, 3, 3]);
      for (const session of sessions) session.dispose();
    });

    test("leaves a session out that is cancelled or fails", async () => {
      const sessions = await opened(4);
      const [one, ...others] = sessions;
      const wanted = drawnIn(await one!.tokens.run(request(0, 100)));
      const stop = new AbortController();
      const [second, third, fourth] = others;
      const codeOf = (run: Promise<TokenResult>): Promise<string> =>
        run.then(
          () => "ran",
          (error: unknown) => toWireError(error).code,
        );
      const kept = [one!.tokens.run(request(0, 100)), fourth!.tokens.run(request(0, 100))];
      const cancelled = codeOf(second!.tokens.run(request(0, 200), stop.signal));
      const failed = codeOf(third!.tokens.run(request(0, 100, -1)));
      stop.abort();
      expect(await cancelled).toBe("CANCELLED");
      expect(await failed).toBe("RUN_FAILED");
      for (const result of await Promise.all(kept)) expect(drawnIn(result)).toEqual(wanted);
      // They work again.
      expect(drawnIn(await third!.tokens.run(request(0, 5)))).toEqual(wanted.slice(0, 5));
      expect(drawnIn(await second!.tokens.run(request(0, 5)))).toEqual(wanted.slice(0, 5));
      for (const session of sessions) session.dispose();
    });

    test("keeps the order of one session: what follows a run starts behind it, and a fork behind both", async () => {
      const sessions = await opened(2);
      const [one, two] = sessions;
      const wanted = drawnIn(await one!.tokens.run(request(0, 60)));
      const { tokens: _, ...inputs } = request(20, 40).inputs;
      const rest: TokenRun = { ...request(20, 40), inputs, follow: INPUTS.tokens };
      const runs = [two!.tokens.run(request(0, 60)), one!.tokens.run(request(0, 20)), one!.tokens.run(rest)];
      const fork = one!.fork(60);
      const again = one!.tokens.run(request(0, 60));
      const [all, begin, end] = (await Promise.all(runs)).map(drawnIn);
      expect(all).toEqual(wanted);
      expect([...begin!, ...end!]).toEqual(wanted);
      expect(drawnIn(await again)).toEqual(wanted);
      const copy = await fork;
      expect(drawnIn(await copy.tokens.run(request(59, 1, wanted[58])))).toEqual(wanted.slice(59));
      for (const session of [...sessions, copy]) session.dispose();
    });
  });
}
