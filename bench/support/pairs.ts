/** One run of ours and one of llama.cpp's over the same file, one after the other. */
import type { DecoderSession } from "../../main/runtime/decoderSession.ts";
import { runBench } from "../../main/runtime/bench.ts";
import { llamaBench } from "../../main/testing/llama.ts";
import type { LlamaOptions } from "../../main/testing/llama.ts";

export interface PairOptions {
  /** Tokens of the prompt, and generated ones; 0 leaves a test out. */
  readonly pp: number;
  readonly tg: number;
  readonly threads: number;
  /** The order should change, so that a machine that gets slower favours neither. */
  readonly theirsFirst: boolean;
}

/** Tokens per second. */
export interface Pair {
  readonly oursPrompt: number;
  readonly theirsPrompt: number;
  readonly oursGenerate: number;
  readonly theirsGenerate: number;
}

/** What llama.cpp is measured with: repacked weights, as it loads them by itself. */
export const llamaOptions = (threads: number): LlamaOptions => ({ threads, cache: "f16", flash: true });

export async function runPair(session: DecoderSession, path: string, options: PairOptions): Promise<Pair> {
  const { pp, tg, threads, theirsFirst } = options;
  const theirs = (): ReturnType<typeof llamaBench> =>
    llamaBench(path, { prompt: pp, generate: tg, repeats: 1 }, llamaOptions(threads));
  const first = theirsFirst ? await theirs() : undefined;
  const ours = await runBench(session, { promptTokens: pp, generateTokens: tg, repeats: 1, warmup: 0 });
  const peer = first ?? (await theirs());
  const rate = (test: "pp" | "tg"): number => ours.find((found) => found.test === test)?.median ?? NaN;
  return {
    oursPrompt: rate("pp"),
    theirsPrompt: pp / (peer.promptSeconds[0] ?? NaN),
    oursGenerate: rate("tg"),
    theirsGenerate: tg / (peer.generateSeconds[0] ?? NaN),
  };
}
