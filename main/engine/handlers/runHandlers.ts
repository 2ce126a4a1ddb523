/** Running a model: chat and completion as a stream of tokens with live statistics. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { View } from "../../contract/define.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import type { runInput, RunStats, TokenView } from "../../contract/views/run.ts";
import type { GenerateEvent, GenerateStats } from "../../runtime/generate.ts";
import type { ReplyEvent } from "../../runtime/replyEvents.ts";
import { replyEvents } from "../../runtime/replyEvents.ts";
import { generate } from "../../runtime/generate.ts";
import type { SamplingNumber } from "../../ir/samplingRanges.ts";
import { SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../ir/samplingRanges.ts";
import type { SamplingHints } from "../../runtime/sampling/hints.ts";
import { samplingHints } from "../../runtime/sampling/hints.ts";
import type { SamplingSettings } from "../../runtime/sampling/settings.ts";
import { prepareSampling } from "../../runtime/sampling/settings.ts";
import type { Reply } from "../../replies/reply.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { inSlices } from "../models/taskCache.ts";
import { callView, promptOf } from "./chats.ts";
import type { Decoders } from "../models/decoders.ts";
import { leaseInPhases } from "../models/decoders.ts";
import { figure } from "../measure/forecast.ts";
import type { Jobs } from "../jobs.ts";
import { randomSeed } from "../random.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";

type RunInput = View<typeof runInput>;
type RunTruth = "measured" | "simulated";
type RunItem = StreamItemOf<"run.start">;
type Start = Extract<RunItem, { readonly kind: "start" }>;
type Done = Extract<RunItem, { readonly kind: "done" }>;

export interface RunParts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly jobs: Jobs;
}

/** Statistics cross at most this often. */
const STATS_EVERY_SECONDS = 0.1;

export const phaseItem = (
  name: string,
  sentence: string,
  since: number,
  fraction: number | null = null,
): PhaseItem => ({
  kind: "phase",
  name,
  sentence,
  fraction,
  elapsedSeconds: (performance.now() - since) / 1000,
});

export function runHandler(parts: RunParts): EngineHandlers["streams"]["run.start"] {
  return async function* run(input, { signal }) {
    const started = performance.now();
    const model = parts.store.get(input.model);
    const job = parts.jobs.start("run", model.description.title, model.id);
    try {
      yield phaseItem("prepare", "Preparing the model", started);
      const prompt = await promptOf(model, input.prompt, signal);
      const { ids } = prompt;
      const lease = yield* leaseInPhases(parts.decoders, model, { ...input, standIn: true, prompt: ids, signal }, job);
      try {
        const { truth } = lease.device.facts(lease.session.threads);
        const { seed, settings, report } = samplingOf(input.sampling, model);
        const sampling = await inSlices(prepareSampling(settings, model.tokenizer, prompt), signal);
        yield {
          kind: "start",
          device: input.device,
          truth,
          seed,
          sampling: report,
          promptTokens: ids.length,
          promptText: prompt.text,
          reference: lease.reference,
        };
        const events = generate(lease.session, model.tokenizer, {
          prompt: ids,
          sampling,
          maxTokens: input.maxTokens,
          stop: input.stop,
          alternatives: input.alternatives,
          ignoreEnd: input.ignoreEnd,
          signal,
        });
        const read = replyEvents(events, prompt.reader, model.tokenizer);
        yield* itemsOf(read, model, input, truth, started, (fraction) => job.update("writing", fraction));
      } finally {
        await lease.release();
      }
    } finally {
      job.end();
    }
  };
}

/** What was asked for, else what the file says, else our defaults. */
function samplingOf(
  { seed: asked, logitBias, dryBreakers, grammar, jsonSchema, ...numbers }: RunInput["sampling"],
  { file }: OpenModel,
): { readonly seed: number; readonly settings: SamplingSettings; readonly report: Start["sampling"] } {
  const hints: SamplingHints = file === undefined ? { values: {}, notes: [] } : samplingHints(file.metadata);
  const isAsked = (name: SamplingNumber): boolean => numbers[name] !== undefined;
  const values = { ...SAMPLING_DEFAULTS };
  for (const name of SAMPLING_NUMBERS) values[name] = numbers[name] ?? hints.values[name] ?? values[name];
  const seed = asked ?? randomSeed();
  return {
    seed,
    settings: {
      ...values,
      seed,
      dryBreakers,
      grammar,
      jsonSchema,
      logitBias: logitBias?.map(({ token, bias }) => ({ token, bias: bias ?? -Infinity })),
    },
    report: {
      values,
      fromFile: SAMPLING_NUMBERS.filter((name) => hints.values[name] !== undefined && !isAsked(name)),
      notes: [...hints.notes],
    },
  };
}

async function* itemsOf(
  events: AsyncIterable<ReplyEvent>,
  model: OpenModel,
  input: RunInput,
  truth: RunTruth,
  started: number,
  progress: (fraction: number) => void,
): AsyncGenerator<RunItem> {
  const recent: number[] = [];
  let lastStats = 0;
  for await (const event of events) {
    const now = performance.now() / 1000;
    if (event.kind === "prompt") {
      yield phaseItem(
        "read",
        `Prefill, ${event.done} of ${event.total} tokens`,
        started,
        event.total === 0 ? null : event.done / event.total,
      );
    } else if (event.kind === "token") {
      // When it was drawn, from the first token on: tokens come several at a time.
      const { generateSeconds } = event.stats;
      recent.push(generateSeconds);
      while ((recent[0] ?? generateSeconds) < generateSeconds - 1) recent.shift();
      yield { kind: "token", token: tokenView(model.tokenizer, event) };
      if (now - lastStats >= STATS_EVERY_SECONDS) {
        lastStats = now;
        progress(event.stats.generated / input.maxTokens);
        yield { kind: "stats", stats: statsView(event.stats, recent, truth) };
      }
    } else if (event.kind === "call") yield { kind: "call", call: callView(event.call) };
    else
      yield {
        kind: "done",
        reason: event.reason,
        sentence: finishSentence(event),
        stats: statsView(event.stats, recent, truth),
        reply: replyView(event.reply),
      };
  }
}

const replyView = ({ calls, notes, ...texts }: Reply): Done["reply"] => ({
  ...texts,
  calls: calls.map(callView),
  notes: [...notes],
});

function tokenView(tokenizer: Tokenizer, event: Extract<ReplyEvent, { readonly kind: "token" }>): TokenView {
  return {
    id: event.id,
    text: event.text,
    logprob: event.logprob,
    at: event.stats.generateSeconds,
    top: event.top.map(({ id, logprob }) => ({ id, text: tokenizer.piece(id, true), logprob })),
    pieces: [...event.pieces],
  };
}

function finishSentence(done: Extract<GenerateEvent, { readonly kind: "done" }>): string {
  switch (done.reason) {
    case "stop":
      return done.found === undefined ? "The model ended its answer." : `Stopped at ${JSON.stringify(done.found)}.`;
    case "length":
      return "The limit of tokens is reached.";
    case "cancelled":
      return "Stopped.";
    case "context-full":
      return "The context is full.";
  }
}

function statsView(stats: GenerateStats, recent: readonly number[], truth: RunTruth): RunStats {
  const fresh = stats.promptTokens - stats.reusedTokens;
  const rate = (count: number, seconds: number, basis: string): RunStats["rate"] =>
    seconds > 0 && count > 0 ? figure(count / seconds, "tokens/s", truth, basis) : null;
  const span = (recent.at(-1) ?? 0) - (recent[0] ?? 0);
  return {
    promptTokens: stats.promptTokens,
    reusedTokens: stats.reusedTokens,
    recomputed: stats.recomputed ?? null,
    promptSeconds: figure(stats.promptSeconds, "seconds", truth, "this run"),
    promptRate: rate(fresh, stats.promptSeconds, `${fresh} tokens of this prompt`),
    firstTokenSeconds:
      stats.firstTokenSeconds === undefined
        ? null
        : figure(stats.firstTokenSeconds, "seconds", truth, "from the question to the first token"),
    generated: stats.generated,
    rate: rate(stats.generated - 1, stats.generateSeconds, "this answer, from its first token on"),
    rateNow: rate(recent.length - 1, span, "the last second"),
    contextUsed: stats.contextUsed,
    contextSize: stats.contextSize,
    cacheBytes: stats.cacheBytes,
  };
}
