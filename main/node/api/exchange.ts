/** One request at an endpoint: what came, and how it is answered. */
import type { ServerResponse } from "node:http";
import type { AnswerEvent, Answer, AnswerParts, Wanted } from "./answers.ts";
import { invariant } from "../../diagnostics/errors.ts";
import { answerTo } from "./answers.ts";
import { apiErrorOf } from "./apiErrors.ts";
import { EventStream } from "./eventStream.ts";
import type { LogEntry } from "./requestLog.ts";
import type { JsonObject } from "./requestBody.ts";
import type { Shelf, TakenModel } from "./shelf.ts";

export interface Exchange {
  readonly body: JsonObject;
  readonly response: ServerResponse;
  /** Fires when the client leaves, or the server ends. */
  readonly signal: AbortSignal;
  readonly entry: LogEntry;
  readonly shelf: Shelf;
  readonly answers: AnswerParts;
}

export type Endpoint = (exchange: Exchange) => Promise<void>;

export function replyWith(response: ServerResponse, status: number, value: object, headers: object = {}): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(text);
}

/** A model for as long as `work` takes. */
export async function withModel<T>(
  { shelf, entry }: Exchange,
  name: string | undefined,
  work: (model: TakenModel) => Promise<T>,
): Promise<T> {
  const known = shelf.named(name);
  entry.update({ model: known.id });
  const model = await shelf.take(known);
  try {
    return await work(model);
  } finally {
    model.release();
  }
}

type Prompt = Wanted["prompt"];

/**
 * Answers; where the model may call tools and its template leaves them out, the log says so. Clients that always send tools
 * are served all the same. Looked at beside the answer, which does not wait for it.
 */
export async function notingTools<T>(
  { entry }: Exchange,
  model: TakenModel,
  prompt: Prompt,
  answer: () => Promise<T>,
): Promise<T> {
  const mayCall = prompt.kind === "chat" && prompt.tools !== undefined && (prompt.toolChoice ?? "auto") === "auto";
  const note = mayCall ? model.toolNote() : null;
  const answered = await answer();
  const sentence = await note;
  if (sentence !== null) entry.note(sentence);
  return answered;
}

export interface Choices {
  readonly count: number;
  /** An earlier prompt of the same request was answered. */
  readonly isAdmitted?: boolean;
}

/** Answers to a prompt, each with its own seed; what comes of each is told as it comes. The first error ends all. */
export async function answerAll(
  exchange: Exchange,
  model: TakenModel,
  wanted: Wanted,
  { count, isAdmitted = false }: Choices,
  tell: (event: AnswerEvent, index: number) => Promise<void> | void,
): Promise<readonly Answer[]> {
  const { signal, entry, answers } = exchange;
  const failed = new AbortController();
  const told = entry.prompt();
  const one = async (index: number): Promise<Answer> => {
    const { seed } = wanted.sampling;
    const sampling =
      typeof seed === "number" ? { ...wanted.sampling, seed: (seed + index) % 2 ** 32 } : wanted.sampling;
    const here = {
      entry,
      told,
      index,
      signal: AbortSignal.any([signal, failed.signal]),
      isAdmitted: isAdmitted || index > 0,
    };
    let answer: Answer | undefined;
    try {
      for await (const event of answerTo(answers, model, { ...wanted, sampling }, here)) {
        await tell(event, index);
        if (event.kind === "done") ({ answer } = event);
      }
    } catch (error) {
      failed.abort();
      throw error;
    }
    invariant(answer, "an answer has an end");
    return answer;
  };
  const ended = await Promise.allSettled(Array.from({ length: count }, (_, index) => one(index)));
  const errors = ended.flatMap((each) => (each.status === "rejected" ? [apiErrorOf(each.reason)] : []));
  // The one that ended the others, not one that it ended.
  const first = errors.find(({ code }) => code !== "CANCELLED") ?? errors[0];
  if (first !== undefined) throw first;
  return ended.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

/** A stream of events; what fails after its head is an event too. */
export async function streaming(
  { response, entry }: Exchange,
  work: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const stream = new EventStream(response);
  try {
    await work(stream);
    stream.end();
  } catch (error) {
    if (!stream.isOpen) {
      stream.drop();
      throw error;
    }
    const known = apiErrorOf(error);
    if (known.code !== "CANCELLED") entry.update({ error: { code: known.code ?? "", sentence: known.message } });
    await stream.fail(known).catch(() => response.destroy());
  }
}
