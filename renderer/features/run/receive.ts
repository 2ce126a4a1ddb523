/** Receives the stream of one answer: tokens once a frame, numbers as they arrive. */
import type { EngineClient, StreamInputOf, StreamItemOf } from "../../../main/contract/contract.ts";
import type { TokenView } from "../../../main/contract/views/run.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Answer } from "./request.ts";

export interface Receiver {
  /** False once the model is closed: the rest of the stream is dropped. */
  readonly isMine: () => boolean;
  readonly patch: (part: (answer: Answer) => Partial<Answer>) => void;
  /** The current step before the first token. */
  readonly say: (sentence: string) => void;
  readonly onRate: (tokensPerSecond: number) => void;
}

const FRAME_MS = 16;

type Part = TokenView["pieces"][number]["part"];

/** The text of tokens that belongs to one part of an answer. */
export const textIn = (tokens: readonly TokenView[], part: Part): string =>
  tokens.flatMap(({ pieces }) => pieces.flatMap((piece) => (piece.part === part ? [piece.text] : []))).join("");

/** Ends when the answer has; a failure is written into the answer. */
export async function receiveAnswer(
  engine: EngineClient,
  input: StreamInputOf<"run.start">,
  signal: AbortSignal,
  receiver: Receiver,
): Promise<void> {
  try {
    await receive(engine, input, signal, receiver);
    receiver.patch(({ end, cut }) =>
      end === null ? { end: "The run ended without a report.", cut: true } : { end, cut },
    );
  } catch (error) {
    const wire = toWireError(error);
    const why = wire.code === "CANCELLED" ? { end: "Stopped by you." } : { end: "Failed.", error: wire };
    receiver.patch(() => ({ ...why, cut: true }));
  }
}

async function receive(
  engine: EngineClient,
  input: StreamInputOf<"run.start">,
  signal: AbortSignal,
  { isMine, patch, say, onRate }: Receiver,
): Promise<void> {
  // Tokens may come faster than the screen: they are put down once a frame.
  let waiting: TokenView[] = [];
  let planned: ReturnType<typeof setTimeout> | null = null;
  const flush = (): void => {
    if (planned !== null) clearTimeout(planned);
    planned = null;
    const tokens = waiting;
    waiting = [];
    if (tokens.length > 0)
      patch((answer) => ({
        tokens: [...answer.tokens, ...tokens],
        text: answer.text + tokens.map(({ text }) => text).join(""),
        reply: {
          ...answer.reply,
          reasoning: answer.reply.reasoning + textIn(tokens, "reasoning"),
          content: answer.reply.content + textIn(tokens, "answer"),
        },
      }));
  };
  const put = (item: StreamItemOf<"run.start">): void => {
    switch (item.kind) {
      case "phase":
        say(item.sentence);
        break;
      case "start":
        patch(() => ({ device: item.device, truth: item.truth, seed: item.seed }));
        say(`Prefill of ${item.promptTokens} tokens`);
        break;
      case "token":
        waiting.push(item.token);
        planned ??= setTimeout(flush, FRAME_MS);
        break;
      case "call":
        flush();
        patch(({ reply }) => ({ reply: { ...reply, calls: [...reply.calls, item.call] } }));
        break;
      case "stats":
        patch(() => ({ stats: item.stats }));
        if (item.stats.rateNow !== null) onRate(item.stats.rateNow.value);
        break;
      case "done":
        flush();
        patch(() => ({
          stats: item.stats,
          end: item.sentence,
          cut: item.reason === "cancelled",
          reply: item.reply,
        }));
        break;
    }
  };
  try {
    for await (const item of engine.stream("run.start", input, { signal })) {
      if (!isMine()) return;
      put(item);
    }
  } finally {
    // Tokens that came before an error are shown, too.
    flush();
  }
}
