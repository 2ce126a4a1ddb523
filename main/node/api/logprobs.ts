/** Log-probabilities of the answer's tokens, in the forms of chat, completions and responses. */
import type { TokenView } from "../../contract/views/run.ts";

interface Likely {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}
export interface ChatLogprob extends Likely {
  readonly top_logprobs: readonly Likely[];
}

const likely = (token: string, logprob: number): Likely => ({ token, logprob, bytes: [...Buffer.from(token)] });

/** Tokens of the answer: those of thoughts, of calls and of marks are left out; half a character has no text of its own. */
const isOfAnswer = ({ text, pieces }: TokenView): boolean =>
  pieces.some(({ part }) => part === "answer") || text === "";

export const chatLogprobs = (tokens: readonly TokenView[]): readonly ChatLogprob[] =>
  tokens.filter(isOfAnswer).map(({ text, logprob, top }) => ({
    ...likely(text, logprob),
    top_logprobs: top.map((other) => likely(other.text, other.logprob)),
  }));

interface TextLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly number[];
  readonly top_logprobs: readonly Readonly<Record<string, number>>[];
  readonly text_offset: readonly number[];
}

/** `offset`: characters of the text before these tokens. */
export function textLogprobs(tokens: readonly TokenView[], offset = 0): TextLogprobs {
  let at = offset;
  const offsets = tokens.map(({ text }) => {
    const here = at;
    at += text.length;
    return here;
  });
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => Object.fromEntries(top.map(({ text, logprob }) => [text, logprob]))),
    text_offset: offsets,
  };
}
