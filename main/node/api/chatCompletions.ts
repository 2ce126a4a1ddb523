/** `POST /v1/chat/completions`, whole or as a stream of chunks. */
import { randomUUID } from "node:crypto";
import type { ToolCall } from "../../contract/views/chat.ts";
import type { TokenView } from "../../contract/views/run.ts";
import type { Answer, AnswerEvent, Finish, Timings, Usage, Wanted } from "./answers.ts";
import { callIdOf, usageOf } from "./answers.ts";
import type { ChatRequest } from "./chatFields.ts";
import { chatPromptOf, chatRequest, schemaOf } from "./chatFields.ts";
import type { EventStream } from "./eventStream.ts";
import type { Endpoint, Exchange } from "./exchange.ts";
import { answerAll, notingTools, replyWith, streaming, withModel } from "./exchange.ts";
import { CallStream } from "./callStream.ts";
import { limitOf, samplingOf, stopsOf } from "./fields.ts";
import type { ChatLogprob } from "./logprobs.ts";
import { chatLogprobs } from "./logprobs.ts";
import type { TakenModel } from "./shelf.ts";

export const newId = (kind: string, sign = "-"): string => `${kind}${sign}${randomUUID().replaceAll("-", "")}`;
export const seconds = (): number => Math.floor(Date.now() / 1000);

export const chatCompletions: Endpoint = async (exchange) => {
  const request = chatRequest(exchange.body);
  const wanted = wantedOf(request);
  exchange.entry.text("prompt", JSON.stringify(request.messages));
  await withModel(exchange, request.model, (model) =>
    notingTools(exchange, model, wanted.prompt, () =>
      request.stream ? streamed(exchange, model, request, wanted) : whole(exchange, model, request, wanted),
    ),
  );
};

function wantedOf(request: ChatRequest): Wanted {
  const prompt = chatPromptOf(request);
  const isCalling = prompt.tools !== undefined && prompt.toolChoice !== "none";
  return {
    prompt,
    sampling: samplingOf(request, schemaOf(request.response_format, isCalling)),
    stop: stopsOf(request),
    maxTokens: limitOf(request.max_completion_tokens ?? request.max_tokens),
    alternatives: request.logprobs ? (request.top_logprobs ?? 0) : 0,
    ignoreEnd: request.ignore_eos,
    oneCall: !request.parallel_tool_calls,
    timesTokens: request.timings_per_token,
  };
}

const callOf = ({ id, name, arguments: given }: ToolCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: given },
});

async function whole(exchange: Exchange, model: TakenModel, request: ChatRequest, wanted: Wanted): Promise<void> {
  const tokens: TokenView[][] = Array.from({ length: request.n }, () => []);
  const answers = await answerAll(exchange, model, wanted, { count: request.n }, (event, index) => {
    if (event.kind === "token" && request.logprobs) tokens[index]?.push(event.token);
  });
  replyWith(exchange.response, 200, {
    id: newId("chatcmpl"),
    object: "chat.completion",
    created: seconds(),
    model: model.id,
    choices: answers.map(({ reply, content, finish }, index) => ({
      index,
      message: {
        role: "assistant",
        content,
        ...(reply.reasoning === "" ? {} : { reasoning_content: reply.reasoning }),
        ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls.map(callOf) }),
        refusal: null,
      },
      logprobs: request.logprobs ? { content: chatLogprobs(tokens[index] ?? []), refusal: null } : null,
      finish_reason: finish,
    })),
    usage: usageOf(answers),
    ...timingsOf(answers),
  });
}

/** Of one answer; several at once have none that is theirs together. */
export const timingsOf = (answers: readonly Answer[]): { readonly timings?: Timings } =>
  answers.length === 1 && answers[0] !== undefined ? { timings: answers[0].timings } : {};

type CallPart = { readonly index: number } & (
  ReturnType<typeof callOf> | { readonly function: { readonly arguments: string } }
);

interface Delta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly CallPart[];
}

interface Extra {
  readonly logprobs?: { readonly content: readonly ChatLogprob[]; readonly refusal: null } | null;
  readonly timings?: Timings;
}

async function streamed(exchange: Exchange, model: TakenModel, request: ChatRequest, wanted: Wanted): Promise<void> {
  await streaming(exchange, async (stream) => {
    const chunk = chunkWriter(stream, model.id, request.stream_options?.include_usage === true);
    const answers = await answerAll(exchange, model, wanted, { count: request.n }, chunkTeller(chunk, request));
    if (request.stream_options?.include_usage === true) await chunk.usage(usageOf(answers), timingsOf(answers));
    await stream.send("[DONE]");
  });
}

interface ChunkWriter {
  choice(index: number, delta: Delta, finish: Finish | null, extra?: Extra): Promise<void>;
  usage(usage: Usage, timings: { readonly timings?: Timings }): Promise<void>;
}

function chunkWriter(stream: EventStream, model: string, hasUsage: boolean): ChunkWriter {
  const head = { id: newId("chatcmpl"), object: "chat.completion.chunk", created: seconds(), model };
  return {
    choice: (index, delta, finish, { logprobs = null, timings } = {}) =>
      stream.send({
        ...head,
        choices: [{ index, delta, logprobs, finish_reason: finish }],
        ...(hasUsage ? { usage: null } : {}),
        ...(timings === undefined ? {} : { timings }),
      }),
    usage: (usage, timings) => stream.send({ ...head, choices: [], usage, ...timings }),
  };
}

/** The calls of one answer: how many came, and the one that comes piece by piece. */
interface Calls {
  told: number;
  isOpen: boolean;
  /** null: calls come whole. */
  readonly stream: CallStream | null;
}

function callsOf({ tools = [], tool_choice: choice }: ChatRequest): Calls {
  const hasToCall = choice !== undefined && choice !== "auto" && choice !== "none";
  const names = tools.flatMap(({ function: own }) => (own === undefined ? [] : [own.name]));
  return { told: 0, isOpen: false, stream: hasToCall ? new CallStream(names) : null };
}

/** What the pieces of a token say of a call. */
function callParts(calls: Calls, pieces: TokenView["pieces"]): readonly CallPart[] {
  return (calls.stream?.push(pieces) ?? []).map((delta) => {
    if (delta.kind === "arguments") return { index: calls.told, function: { arguments: delta.text } };
    calls.isOpen = true;
    return {
      index: calls.told,
      id: callIdOf(delta.id),
      type: "function",
      function: { name: delta.name, arguments: "" },
    };
  });
}

function chunkTeller(chunk: ChunkWriter, request: ChatRequest): (event: AnswerEvent, index: number) => Promise<void> {
  const answers = Array.from({ length: request.n }, () => callsOf(request));
  return async (event, index) => {
    const calls = answers[index] ?? callsOf(request);
    switch (event.kind) {
      case "begun":
        return chunk.choice(index, { role: "assistant", content: "" }, null);
      case "token": {
        const entries = request.logprobs ? chatLogprobs([event.token]) : [];
        const parts = callParts(calls, event.token.pieces);
        const delta = { ...deltaOf(event.token), ...(parts.length === 0 ? {} : { tool_calls: parts }) };
        if (Object.keys(delta).length === 0 && entries.length === 0) return;
        return chunk.choice(index, Object.keys(delta).length === 0 ? { content: "" } : delta, null, {
          ...(entries.length === 0 ? {} : { logprobs: { content: entries, refusal: null } }),
          ...(event.timings === null ? {} : { timings: event.timings }),
        });
      }
      case "call": {
        const at = calls.told++;
        const came = calls.isOpen;
        calls.isOpen = false;
        calls.stream?.next();
        return came ? undefined : chunk.choice(index, { tool_calls: [{ index: at, ...callOf(event.call) }] }, null);
      }
      case "done":
        return chunk.choice(index, {}, event.answer.finish, { timings: event.answer.timings });
    }
  };
}

/** The text of calls is left out: they come by themselves. */
function deltaOf({ pieces }: TokenView): Delta {
  const text = (part: "answer" | "reasoning"): string =>
    pieces.flatMap((piece) => (piece.part === part ? [piece.text] : [])).join("");
  const [answer, reasoning] = [text("answer"), text("reasoning")];
  return {
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(answer === "" ? {} : { content: answer }),
  };
}
