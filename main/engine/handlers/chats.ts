/** From what a person says to the tokens a model reads: the file's own template, or the text as it is. */
import type { TemplateView } from "../../contract/views/run.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import { requireDecoder } from "../../models/architecture.ts";
import type { ChatMessage, ChatSupport } from "../../chatTemplate/chatTemplate.ts";
import { chatSupport, encodeRenderedSteps } from "../../chatTemplate/chatTemplate.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";

export type Prompt =
  | { readonly kind: "chat"; readonly messages: readonly ChatMessage[] }
  | { readonly kind: "completion"; readonly text: string };

export interface PromptTokens {
  readonly text: string;
  readonly ids: Int32Array;
}

const supportOf = (model: OpenModel): ChatSupport =>
  model.cached("chat support", () => chatSupport(model.requireFile("chat"), model.tokenizer));

/** Made in slices: the text may be long, and the vocabulary comes from a stranger's file. */
export async function promptOf(model: OpenModel, prompt: Prompt, signal: AbortSignal): Promise<PromptTokens> {
  if (prompt.kind === "completion")
    return { text: prompt.text, ids: await inSlices(model.tokenizer.encodeSteps(prompt.text), signal) };
  const support = supportOf(model);
  if (support.kind === "none") {
    // What cannot run at all has no use for a completion either.
    requireDecoder(model.requireFile("chat"));
    throw new WorkbenchError("INPUT_TEMPLATE", `[chat] ${support.sentence}`, { hint: "Use completion instead." });
  }
  const text = support.template.render(prompt.messages);
  return { text, ids: await inSlices(encodeRenderedSteps(model.tokenizer, text), signal) };
}

export function templateView(model: OpenModel, messages: readonly ChatMessage[] | null): TemplateView {
  let support: ChatSupport;
  try {
    support = supportOf(model);
  } catch (error) {
    return { origin: null, sentence: toWireError(error).message, source: "", rendered: null };
  }
  if (support.kind === "none") return { origin: null, sentence: support.sentence, source: "", rendered: null };
  const { template } = support;
  return {
    origin: template.origin,
    sentence:
      template.origin === "file"
        ? "The chat template of the file is used."
        : "The file has no template; its vocabulary knows ChatML, so that is used.",
    source: template.source,
    rendered: messages === null ? null : template.render(messages),
  };
}
