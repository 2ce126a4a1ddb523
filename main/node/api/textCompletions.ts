/** `POST /v1/completions`: texts that go on, whole or as a stream. A prompt may be tokens already. */
import { z } from "zod";
import type { TokenView } from "../../contract/views/run.ts";
import type { Answer, Timings, Usage, Wanted } from "./answers.ts";
import { usageOf } from "./answers.ts";
import { badField } from "./apiErrors.ts";
import { newId, seconds, timingsOf } from "./chatCompletions.ts";
import type { Endpoint, Exchange } from "./exchange.ts";
import { answerAll, replyWith, streaming, withModel } from "./exchange.ts";
import type { RunInput } from "./fields.ts";
import { limitOf, parsed, refused, samplingOf, sharedFields, stopsOf, tokenLimit } from "./fields.ts";
import { textLogprobs } from "./logprobs.ts";
import type { TakenModel } from "./shelf.ts";

const MOST_PROMPTS = 64;
const id = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);

const schema = z.object({
  ...sharedFields,
  prompt: z.union(
    [
      z.string(),
      z.array(z.string()).min(1).max(MOST_PROMPTS),
      z.array(id).min(1),
      z.array(z.array(id).min(1)).min(1).max(MOST_PROMPTS),
    ],
    { error: `expected a text or the ids of tokens, or 1 to ${MOST_PROMPTS} of them` },
  ),
  max_tokens: tokenLimit,
  n_predict: z.number().int().min(-1).max(1_048_576).optional(),
  logprobs: z.number().int().min(0).max(20).optional(),
});
type Request = z.output<typeof schema>;

const REFUSED = [
  refused("suffix", "Write the marks of the model's own form for gaps into the prompt.", ""),
  refused("echo", "The prompt is known already.", false),
];

export const textCompletions: Endpoint = async (exchange) => {
  const request = parsed(schema, exchange.body, REFUSED);
  const best = exchange.body["best_of"];
  if (typeof best === "number" && best !== request.n) throw badField("best_of", `got ${best}, expected n`);
  exchange.entry.text("prompt", JSON.stringify(request.prompt));
  const prompts = promptsOf(request.prompt);
  const wanted = prompts.map((prompt) => wantedOf(request, prompt));
  await withModel(exchange, request.model, (model) =>
    request.stream ? streamed(exchange, model, request, wanted) : whole(exchange, model, request, wanted),
  );
};

type Prompt = RunInput["prompt"];

function promptsOf(prompt: Request["prompt"]): readonly Prompt[] {
  if (typeof prompt === "string") return [{ kind: "completion", text: prompt }];
  if (prompt.every((each) => typeof each === "number")) return [{ kind: "tokens", ids: Int32Array.from(prompt) }];
  return prompt.map((each) =>
    typeof each === "string"
      ? { kind: "completion", text: each }
      : { kind: "tokens", ids: Int32Array.from(typeof each === "number" ? [each] : each) },
  );
}

function wantedOf(request: Request, prompt: Prompt): Wanted {
  return {
    prompt,
    sampling: samplingOf(request),
    stop: stopsOf(request),
    maxTokens: limitOf(request.max_tokens ?? request.n_predict),
    alternatives: request.logprobs ?? 0,
    ignoreEnd: request.ignore_eos,
    oneCall: false,
    timesTokens: request.timings_per_token,
  };
}

/** Choices of all prompts are numbered one behind the other. */
async function answersOf(
  exchange: Exchange,
  model: TakenModel,
  { n }: Request,
  wanted: readonly Wanted[],
  tell: Parameters<typeof answerAll>[4],
): Promise<readonly (readonly Answer[])[]> {
  const all: (readonly Answer[])[] = [];
  for (const [at, each] of wanted.entries())
    all.push(
      await answerAll(exchange, model, each, { count: n, isAdmitted: at > 0 }, (event, index) =>
        tell(event, at * n + index),
      ),
    );
  return all;
}

function usageOfAll(all: readonly (readonly Answer[])[]): Usage {
  const each = all.map(usageOf);
  const sum = (of: (usage: Usage) => number): number => each.reduce((total, usage) => total + of(usage), 0);
  return {
    prompt_tokens: sum((usage) => usage.prompt_tokens),
    completion_tokens: sum((usage) => usage.completion_tokens),
    total_tokens: sum((usage) => usage.total_tokens),
    prompt_tokens_details: { cached_tokens: sum((usage) => usage.prompt_tokens_details.cached_tokens) },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

async function whole(
  exchange: Exchange,
  model: TakenModel,
  request: Request,
  wanted: readonly Wanted[],
): Promise<void> {
  const tokens: TokenView[][] = Array.from({ length: wanted.length * request.n }, () => []);
  const all = await answersOf(exchange, model, request, wanted, (event, index) => {
    if (event.kind === "token" && request.logprobs !== undefined) tokens[index]?.push(event.token);
  });
  const answers = all.flat();
  replyWith(exchange.response, 200, {
    id: newId("cmpl"),
    object: "text_completion",
    created: seconds(),
    model: model.id,
    choices: answers.map(({ finish, reply }, index) => ({
      index,
      text: reply.content,
      logprobs: request.logprobs === undefined ? null : textLogprobs(tokens[index] ?? []),
      finish_reason: finish,
    })),
    usage: usageOfAll(all),
    ...timingsOf(answers),
  });
}

async function streamed(
  exchange: Exchange,
  model: TakenModel,
  request: Request,
  wanted: readonly Wanted[],
): Promise<void> {
  await streaming(exchange, async (stream) => {
    const head = { id: newId("cmpl"), object: "text_completion", created: seconds(), model: model.id };
    const offsets = new Map<number, number>();
    const hasUsage = request.stream_options?.include_usage === true;
    const send = (index: number, text: string, more: object, timings?: Timings | null): Promise<void> =>
      stream.send({
        ...head,
        choices: [{ index, text, logprobs: null, finish_reason: null, ...more }],
        ...(hasUsage ? { usage: null } : {}),
        ...(timings === undefined || timings === null ? {} : { timings }),
      });
    const all = await answersOf(exchange, model, request, wanted, async (event, index) => {
      if (event.kind === "begun") stream.open();
      else if (event.kind === "token") {
        const { token } = event;
        const at = offsets.get(index) ?? 0;
        offsets.set(index, at + token.text.length);
        if (token.text === "" && request.logprobs === undefined) return;
        const logprobs = request.logprobs === undefined ? {} : { logprobs: textLogprobs([token], at) };
        await send(index, token.text, logprobs, event.timings);
      } else if (event.kind === "done")
        await send(index, "", { finish_reason: event.answer.finish }, event.answer.timings);
    });
    if (hasUsage) await stream.send({ ...head, choices: [], usage: usageOfAll(all) });
    await stream.send("[DONE]");
  });
}
