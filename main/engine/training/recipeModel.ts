/** An open model for the recipe that adapts it: its tokens, and chats in the form of its own template. */
import { chatSupport, encodeRendered } from "../../chatTemplate/chatTemplate.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { textOrBytes } from "../../diagnostics/utf8.ts";
import type { Conversation } from "../../training/data/chat.ts";
import type { RecipeModel } from "../../training/recipes/tuned.ts";
import type { TokenWindow } from "../../training/tuning/tuning.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";

export function recipeModel(model: OpenModel, signal: AbortSignal): RecipeModel {
  const file = model.requireFile("train");
  const { tokenizer } = model;
  return {
    file,
    title: model.description.title,
    tokens: (text) => inSlices(tokenizer.encodeSteps(text, { addSpecial: true }), signal),
    chat: (conversation) => Promise.resolve(chatWindow(model, conversation)),
    encode: (text) => tokenizer.encode(text, { addSpecial: true }),
    decode: (ids) => textOf(ids.map((id) => tokenizer.pieceBytes(id, true))),
  };
}

function textOf(pieces: readonly Uint8Array[]): string {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  const text = textOrBytes(bytes);
  return typeof text === "string" ? text : new TextDecoder().decode(bytes);
}

/**
 * Text up to an answer and text with it are rendered; what is between them is what the assistant says. Where a template changes
 * what came before (it drops old thoughts, for instance), the whole is learned.
 */
function chatWindow(model: OpenModel, conversation: Conversation): TokenWindow {
  const { tokenizer } = model;
  const support = chatSupport(model.requireFile("train"), tokenizer);
  if (support.kind === "none")
    throw new WorkbenchError("INPUT_TEMPLATE", `[train] data: got chats, expected a text: ${support.sentence}`, {
      hint: "Give the chats as a text, or take a model with a chat template.",
    });
  const { template } = support;
  const whole = template.render(conversation, { addGenerationPrompt: false });
  const parts: { readonly text: string; readonly isLearned: boolean }[] = [];
  let done = "";
  for (const [i, { role }] of conversation.entries()) {
    if (role !== "assistant") continue;
    const before = template.render(conversation.slice(0, i), { addGenerationPrompt: true });
    const after = template.render(conversation.slice(0, i + 1), { addGenerationPrompt: false });
    if (!before.startsWith(done) || !after.startsWith(before) || !whole.startsWith(after))
      return { tokens: encodeRendered(tokenizer, whole) };
    parts.push(
      { text: before.slice(done.length), isLearned: false },
      { text: after.slice(before.length), isLearned: true },
    );
    done = after;
  }
  const tokens: number[] = [];
  const learned: boolean[] = [];
  parts.forEach(({ text, isLearned }, i) => {
    const ids = i === 0 ? encodeRendered(tokenizer, text) : tokenizer.encode(text, { addSpecial: false });
    tokens.push(...ids);
    learned.push(...Array.from(ids, () => isLearned));
  });
  return { tokens, learned };
}
