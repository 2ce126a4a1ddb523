/**
 * From a conversation to the text a model was trained on: the file's own template, or ChatML where
 * the vocabulary shows that the model knows it. A file with neither is said to be for completion
 * only; nothing is guessed.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Json } from "../diagnostics/errors.ts";
import { finish } from "../ir/steps.ts";
import type { Steps } from "../ir/steps.ts";
import { strftime } from "./strftime.ts";
import { templateError } from "./budget.ts";
import type { TemplateLimits } from "./budget.ts";
import { parseTemplate, runTemplate } from "./sandbox.ts";
import type { TokenizerSource } from "../tokenizer/rules.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** A piece of a message's content: text, or what stands for an image or a sound. */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
}

/** As Hugging Face templates read it: a message of system, developer, user, assistant or tool. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly ContentPart[] | null;
  /** What the model thought before it answered. */
  readonly reasoning_content?: string | null;
  readonly tool_calls?: readonly Json[];
  /** Of a tool's result: the call that it answers, and the tool. */
  readonly tool_call_id?: string;
  readonly name?: string;
}

export interface RenderOptions {
  /** End with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** For templates that write the date; default now. */
  readonly now?: Date;
  /** JSON schemas of functions that the model may call. None and an empty list are different to some templates. */
  readonly tools?: readonly Json[] | null;
  readonly documents?: readonly Json[] | null;
  /** More variables a template may look at, such as enable_thinking. */
  readonly variables?: { readonly [name: string]: Json };
}

export interface ChatTemplate {
  /** Where the template comes from: the file itself, or the general form that its vocabulary speaks for. */
  readonly origin: "file" | "chatml";
  readonly source: string;
  readonly render: (messages: readonly ChatMessage[], options?: RenderOptions) => string;
}

export type ChatSupport =
  | { readonly kind: "chat"; readonly template: ChatTemplate }
  /** Completion only, and why. */
  | { readonly kind: "none"; readonly sentence: string };

const CHATML = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

const KEY = "tokenizer.chat_template";
/** The template for conversations with tools, in files that have several. */
const TOOL_USE = "tool_use";

/** Templates that the file has beside its first one, by their names. */
export function templateNames({ metadata }: TokenizerSource): readonly string[] {
  return metadata.entries.flatMap(({ key, value }) =>
    key.startsWith(`${KEY}.`) && value.kind === "string" ? [key.slice(KEY.length + 1)] : [],
  );
}

export interface TemplateChoice {
  /** One of `templateNames`; without it the file's first, or its own for tools where they are given. */
  readonly name?: string | undefined;
  readonly hasTools?: boolean;
}

/** The chat of a model. A template that cannot be parsed fails here, with INPUT_TEMPLATE. */
export function chatSupport(file: TokenizerSource, tokenizer: Tokenizer, choice: TemplateChoice = {}): ChatSupport {
  const { metadata } = file;
  const names = templateNames(file);
  const first = metadata.optionalString(KEY);
  if (choice.name !== undefined && !names.includes(choice.name) && choice.name !== "default")
    throw new WorkbenchError(
      "INPUT_TEMPLATE",
      `[chat template] name: got ${JSON.stringify(choice.name)}, expected ${["default", ...names].join(" or ")}`,
      { hint: "Leave the name out for the file's own choice." },
    );
  const forTools = choice.hasTools === true && names.includes(TOOL_USE) ? TOOL_USE : undefined;
  // A file may have nothing but named ones.
  const isNamedOnly = (first ?? "") === "" && names.length > 0;
  const name = choice.name ?? forTools ?? (isNamedOnly ? names[0] : "default");
  const source = name === "default" || name === undefined ? first : metadata.optionalString(`${KEY}.${name}`);
  if (source !== undefined && source !== "") return { kind: "chat", template: chatTemplate(source, tokenizer, "file") };
  if (tokenizer.idOf("<|im_start|>") !== undefined && tokenizer.idOf("<|im_end|>") !== undefined)
    return { kind: "chat", template: chatTemplate(CHATML, tokenizer, "chatml") };
  return {
    kind: "none",
    sentence:
      "The file has no chat template, and its vocabulary does not show one: the model completes text, it does not chat.",
  };
}

/**
 * Why the file's own template cannot be used, as far as parsing it shows; undefined when it can, or
 * when there is none.
 */
export function templateRefusal({ metadata }: TokenizerSource): WorkbenchError | undefined {
  try {
    parseTemplate(metadata.optionalString(KEY) ?? "");
    return undefined;
  } catch (error) {
    if (error instanceof WorkbenchError) return error;
    throw error;
  }
}

export function chatTemplate(
  source: string,
  tokenizer: Pick<Tokenizer, "bos" | "eos" | "tokenText">,
  origin: ChatTemplate["origin"] = "file",
  limits?: TemplateLimits,
): ChatTemplate {
  const program = parseTemplate(source, limits);
  const text = (id: number | undefined): string => (id === undefined ? "" : tokenizer.tokenText(id));
  return {
    origin,
    source,
    render(messages, options = {}) {
      const { addGenerationPrompt = true, now = new Date(), tools = null, documents = null, variables = {} } = options;
      const values = {
        // None where a conversation has none, as apply_chat_template of Hugging Face passes them.
        tools,
        documents,
        ...variables,
        messages: messages.map((message) => ({ ...message })),
        add_generation_prompt: addGenerationPrompt,
        bos_token: text(tokenizer.bos),
        eos_token: text(tokenizer.eos),
        strftime_now: (format: unknown) => {
          if (typeof format !== "string") throw templateError("strftime_now is given no text");
          return strftime(now, format);
        },
      };
      return runTemplate(program, values, limits);
    },
  };
}

/**
 * Token ids of a rendered conversation: what the rules add is added, but not a second BOS where the
 * template wrote one.
 */
export function* encodeRenderedSteps(tokenizer: Tokenizer, rendered: string): Steps<Int32Array> {
  const ids = yield* tokenizer.encodeSteps(rendered, { addSpecial: false });
  if (!tokenizer.addBos || tokenizer.bos === undefined || ids[0] === tokenizer.bos) return ids;
  return Int32Array.from([tokenizer.bos, ...ids]);
}

/** As `encodeRenderedSteps`, at once. */
export const encodeRendered = (tokenizer: Tokenizer, rendered: string): Int32Array =>
  finish(encodeRenderedSteps(tokenizer, rendered));
