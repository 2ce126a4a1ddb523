/**
 * The events of an answer with what each of its tokens is for: reasoning, the answer, a call of a tool. A token waits
 * until that is certain; calls come as soon as they are complete.
 */
import type { ReplyReader } from "../replies/reader.ts";
import type { Reply, ReplyPart, ReplyPiece, ToolCall } from "../replies/reply.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { GenerateEvent } from "./generate.ts";

type TokenEvent = Extract<GenerateEvent, { readonly kind: "token" }>;
type DoneEvent = Extract<GenerateEvent, { readonly kind: "done" }>;

/** Text that is shown to a reader: without the marks. */
export interface ShownPiece {
  readonly part: Exclude<ReplyPart, "mark">;
  readonly text: string;
}

export type ReplyEvent =
  | Exclude<GenerateEvent, { readonly kind: "token" | "done" }>
  | (TokenEvent & { readonly pieces: readonly ShownPiece[] })
  | { readonly kind: "call"; readonly call: ToolCall }
  | (DoneEvent & { readonly reply: Reply });

interface Waiting {
  readonly event: TokenEvent;
  /** Characters whose part is not known yet. */
  left: number;
  readonly pieces: ShownPiece[];
}

export async function* replyEvents(
  events: AsyncIterable<GenerateEvent>,
  reader: ReplyReader,
  tokenizer: Pick<Tokenizer, "tokenKind" | "tokenText">,
): AsyncGenerator<ReplyEvent, void, void> {
  const waiting: Waiting[] = [];
  let told = 0;
  for await (const event of events) {
    if (event.kind === "prompt") yield event;
    else if (event.kind === "token") {
      const text = readText(event, reader, tokenizer);
      waiting.push({ event, left: text.length, pieces: [] });
      yield* settled(waiting, reader.push(text));
      for (; told < reader.calls.length; told++) yield* callEvent(reader.calls[told]);
    } else {
      const { pieces, reply } = reader.finish();
      yield* settled(waiting, pieces);
      for (; told < reply.calls.length; told++) yield* callEvent(reply.calls[told]);
      yield { ...event, reply };
    }
  }
}

function* callEvent(call: ToolCall | undefined): Generator<ReplyEvent, void> {
  if (call !== undefined) yield { kind: "call", call };
}

/** Marks are often control tokens, whose text is not shown. */
function readText(
  { id, text }: TokenEvent,
  reader: ReplyReader,
  tokenizer: Pick<Tokenizer, "tokenKind" | "tokenText">,
): string {
  if (text !== "" || tokenizer.tokenKind(id) !== "control") return text;
  const control = tokenizer.tokenText(id);
  return reader.reads(control) ? control : "";
}

/** Deals the pieces out to the tokens, whose texts they are in order, and gives those that are complete. */
function* settled(waiting: Waiting[], pieces: readonly ReplyPiece[]): Generator<ReplyEvent, void> {
  let at = 0;
  for (const { part, text } of pieces)
    for (let from = 0; from < text.length;) {
      while ((waiting[at]?.left ?? 1) === 0) at += 1;
      const token = waiting[at];
      if (token === undefined) break;
      const length = Math.min(token.left, text.length - from);
      if (part !== "mark") token.pieces.push({ part, text: text.slice(from, from + length) });
      token.left -= length;
      from += length;
    }
  while (waiting[0]?.left === 0) {
    const { event, pieces: own } = waiting[0];
    waiting.shift();
    yield { ...event, pieces: own };
  }
}
