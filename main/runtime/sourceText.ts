/**
 * What the encoder of an encoder-decoder does for a session: it reads a whole text once, and the steps of the decoder
 * take what it gave as inputs. A text that was read does not change, so sessions share it.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Graph } from "../ir/graph.ts";
import type { GraphSession } from "../ir/session.ts";
import { INPUTS } from "../models/blocks.ts";

/** A text that was read. */
export interface SourceText {
  readonly tokens: Int32Array;
  /** Inputs of the decoder's steps: keys and values of the text, and its length. */
  readonly inputs: Readonly<Record<string, ArrayBufferView>>;
}

export interface SourceReader {
  /** The decoder's first token. */
  readonly start: number;
  /** Most tokens of a text. */
  readonly largestText: number;
  /** Answers what a step takes; the text has at least one token and at most `largestText`. */
  read(tokens: Int32Array, signal?: AbortSignal): Promise<SourceText["inputs"]>;
}

/** A reader over a session of the encoder's graph. */
export const readerOver = (
  session: GraphSession,
  outputs: readonly string[],
  { start, largestText }: Pick<SourceReader, "start" | "largestText">,
): SourceReader => ({
  start,
  largestText,
  async read(tokens, signal) {
    const length = Int32Array.of(tokens.length);
    const inputs = { [INPUTS.tokens]: tokens, [INPUTS.length]: length };
    const made = await session.run({ inputs, fetch: outputs }, signal);
    const read = Object.entries(made.outputs).map(
      ([
        name,
        {
          bytes: { buffer, byteOffset, byteLength },
        },
      ]) => {
        return [name, new Float32Array(buffer, byteOffset, byteLength / 4)] as const;
      },
    );
    return { ...Object.fromEntries(read), [INPUTS.sourceLength]: length };
  },
});

export const outputNames = ({ outputs }: Graph): readonly string[] => outputs.map(({ name }) => name);

/** Refuses a text that the encoder cannot read. */
export function checkText(tokens: ArrayLike<number>, largestText: number): void {
  if (tokens.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[encoder] the text: got no tokens, expected at least one", {
      hint: "Give a text that is not empty.",
    });
  if (tokens.length > largestText)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[encoder] the text: got ${tokens.length} tokens, expected at most ${largestText}: the model's context ends there`,
      { hint: "Shorten it, or give it in parts." },
    );
}

/** For steps of a decoder whose encoder has read nothing. */
export const nothingRead = (): WorkbenchError =>
  new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    "[decoder] got tokens for an encoder-decoder that has read no text, expected a text first",
    { hint: "Give the text as a prompt, with `rlx run`. What looks at a text alone (score, imatrix) is for decoders." },
  );
