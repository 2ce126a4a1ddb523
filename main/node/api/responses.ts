/** `POST /v1/responses`: the same answers as items of output, whole or as named events. */
import type { ToolCall } from "../../contract/views/chat.ts";
import type { Answer, AnswerEvent, Timings, Wanted } from "./answers.ts";
import { usageOf } from "./answers.ts";
import { apiErrorOf } from "./apiErrors.ts";
import { newId, seconds } from "./chatCompletions.ts";
import type { EventStream } from "./eventStream.ts";
import type { Endpoint, Exchange } from "./exchange.ts";
import { answerAll, notingTools, replyWith, streaming, withModel } from "./exchange.ts";
import { samplingOf } from "./fields.ts";
import type { ResponseRequest } from "./responseFields.ts";
import { responsePrompt, responseRequest, responseSchema } from "./responseFields.ts";
import type { TakenModel } from "./shelf.ts";

export const responses: Endpoint = async (exchange) => {
  const request = responseRequest(exchange.body);
  const prompt = responsePrompt(request);
  const isCalling = prompt.tools !== undefined && prompt.toolChoice !== "none";
  const { temperature, top_p } = request;
  const wanted: Wanted = {
    prompt,
    sampling: samplingOf({ temperature, top_p }, responseSchema(request, isCalling)),
    stop: [],
    maxTokens: request.max_output_tokens ?? null,
    alternatives: 0,
    ignoreEnd: false,
    oneCall: !request.parallel_tool_calls,
    timesTokens: false,
  };
  exchange.entry.text("prompt", JSON.stringify(request.input));
  await withModel(exchange, request.model, (model) =>
    notingTools(exchange, model, wanted.prompt, () =>
      request.stream ? streamed(exchange, model, request, wanted) : whole(exchange, model, request, wanted),
    ),
  );
};

type Status = "in_progress" | "completed" | "incomplete" | "failed";

/** What the answer says of itself besides its output. */
const frameOf = (request: ResponseRequest, model: string) => ({
  id: newId("resp", "_"),
  object: "response" as const,
  created_at: seconds(),
  model,
  error: null,
  instructions: request.instructions ?? null,
  metadata: request.metadata ?? {},
  parallel_tool_calls: request.parallel_tool_calls,
  temperature: request.temperature ?? null,
  top_p: request.top_p ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  previous_response_id: null,
  store: false,
  text: request.text ?? { format: { type: "text" } },
  tool_choice: request.tool_choice,
  tools: request.tools,
  reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
  truncation: "disabled" as const,
});

const reasoningItem = (id: string, text: string) => ({
  ...{ id, type: "reasoning" as const, summary: [] },
  content: [{ type: "reasoning_text" as const, text }],
});
const textPart = (text: string) => ({ type: "output_text" as const, text, annotations: [], logprobs: [] });
const messageItem = (id: string, text: string, status: Status) => ({
  ...{ id, type: "message" as const, role: "assistant" as const, status },
  content: [textPart(text)],
});
const callItem = (id: string, { id: callId, name, arguments: given }: ToolCall, status: Status) => ({
  ...{ id, type: "function_call" as const, call_id: callId, name, arguments: given, status },
});

type OutputItem = ReturnType<typeof reasoningItem> | ReturnType<typeof messageItem> | ReturnType<typeof callItem>;

function outputOf({ reply, content, finish }: Answer): readonly OutputItem[] {
  const status = finish === "length" ? "incomplete" : "completed";
  const { reasoning, calls } = reply;
  return [
    ...(reasoning === "" ? [] : [reasoningItem(newId("rs", "_"), reasoning)]),
    ...(content === null ? [] : [messageItem(newId("msg", "_"), content, status)]),
    ...calls.map((call) => callItem(newId("fc", "_"), call, "completed")),
  ];
}

/** The end of an answer as its last words say it. */
function endOf(answer: Answer, output: readonly OutputItem[]) {
  const usage = usageOf([answer]);
  const isCut = answer.finish === "length";
  return {
    status: isCut ? ("incomplete" as const) : ("completed" as const),
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    output,
    output_text: answer.content ?? "",
    usage: {
      input_tokens: usage.prompt_tokens,
      input_tokens_details: usage.prompt_tokens_details,
      output_tokens: usage.completion_tokens,
      output_tokens_details: usage.completion_tokens_details,
      total_tokens: usage.total_tokens,
    },
    timings: answer.timings satisfies Timings,
  };
}

async function whole(exchange: Exchange, model: TakenModel, request: ResponseRequest, wanted: Wanted): Promise<void> {
  const [answer] = await answerAll(exchange, model, wanted, { count: 1 }, () => undefined);
  if (answer === undefined) return;
  replyWith(exchange.response, 200, { ...frameOf(request, model.id), ...endOf(answer, outputOf(answer)) });
}

async function streamed(
  exchange: Exchange,
  model: TakenModel,
  request: ResponseRequest,
  wanted: Wanted,
): Promise<void> {
  await streaming(exchange, async (stream) => {
    const frame = frameOf(request, model.id);
    const writer = new ResponseWriter(stream, frame);
    try {
      const [answer] = await answerAll(exchange, model, wanted, { count: 1 }, (event) => writer.take(event));
      if (answer !== undefined) await writer.end(answer);
    } catch (error) {
      // Before the head an error has a status of its own.
      if (stream.isOpen) await writer.fail(apiErrorOf(error).body.error);
      throw error;
    }
  });
}

type Open =
  | { readonly kind: "reasoning"; readonly id: string; text: string }
  | { readonly kind: "message"; readonly id: string; text: string };

/** Events in their order: each item is begun, filled and ended before the next. */
class ResponseWriter {
  readonly #stream: EventStream;
  readonly #frame: ReturnType<typeof frameOf>;
  readonly #output: OutputItem[] = [];
  #open: Open | undefined;
  #number = 0;

  constructor(stream: EventStream, frame: ReturnType<typeof frameOf>) {
    this.#stream = stream;
    this.#frame = frame;
  }

  async take(event: AnswerEvent): Promise<void> {
    if (event.kind === "begun") {
      const response = this.#response("in_progress");
      await this.#send("response.created", { response });
      await this.#send("response.in_progress", { response });
    } else if (event.kind === "token") {
      for (const { part, text } of event.token.pieces)
        if (part !== "call") await this.#text(part === "answer" ? "message" : "reasoning", text);
    } else if (event.kind === "call") {
      await this.#close("completed");
      await this.#call(event.call);
    }
  }

  async end(answer: Answer): Promise<void> {
    await this.#close(answer.finish === "length" ? "incomplete" : "completed");
    const end = endOf(answer, this.#output);
    const response = { ...this.#frame, ...end };
    await this.#send(end.status === "completed" ? "response.completed" : "response.incomplete", { response });
  }

  async fail(error: object): Promise<void> {
    await this.#send("response.failed", { response: { ...this.#response("failed"), error } });
  }

  #response(status: Status): object {
    return { ...this.#frame, status, incomplete_details: null, output: this.#output, usage: null };
  }

  async #send(type: string, data: object): Promise<void> {
    await this.#stream.send({ type, sequence_number: this.#number++, ...data }, type);
  }

  async #text(kind: Open["kind"], text: string): Promise<void> {
    // Blanks between two parts begin none.
    if (this.#open?.kind !== kind && text.trim() === "") return;
    const open = this.#open?.kind === kind ? this.#open : await this.#begin(kind);
    open.text += text;
    const place = { item_id: open.id, output_index: this.#output.length, content_index: 0, delta: text };
    if (kind === "reasoning") await this.#send("response.reasoning_text.delta", place);
    else await this.#send("response.output_text.delta", { ...place, logprobs: [] });
  }

  async #begin(kind: Open["kind"]): Promise<Open> {
    await this.#close("completed");
    const open: Open = { kind, id: newId(kind === "reasoning" ? "rs" : "msg", "_"), text: "" };
    this.#open = open;
    const output_index = this.#output.length;
    const whole = this.#item(open, "in_progress");
    await this.#send("response.output_item.added", { output_index, item: { ...whole, content: [] } });
    if (kind === "message")
      await this.#send("response.content_part.added", {
        ...{ item_id: open.id, output_index, content_index: 0, part: textPart("") },
      });
    return open;
  }

  #item({ kind, id, text }: Open, status: Status): OutputItem {
    return kind === "reasoning" ? reasoningItem(id, text) : messageItem(id, text, status);
  }

  async #close(status: Status): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { id, kind, text } = open;
    const place = { item_id: id, output_index: this.#output.length, content_index: 0 };
    if (kind === "reasoning") await this.#send("response.reasoning_text.done", { ...place, text });
    else {
      await this.#send("response.output_text.done", { ...place, text, logprobs: [] });
      await this.#send("response.content_part.done", { ...place, part: textPart(text) });
    }
    await this.#finish(this.#item(open, status));
  }

  async #call(call: ToolCall): Promise<void> {
    const id = newId("fc", "_");
    const output_index = this.#output.length;
    const begun = { ...callItem(id, call, "in_progress"), arguments: "" };
    await this.#send("response.output_item.added", { output_index, item: begun });
    const place = { item_id: id, output_index };
    await this.#send("response.function_call_arguments.delta", { ...place, delta: call.arguments });
    await this.#send("response.function_call_arguments.done", { ...place, name: call.name, arguments: call.arguments });
    await this.#finish(callItem(id, call, "completed"));
  }

  async #finish(item: OutputItem): Promise<void> {
    await this.#send("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
  }
}
