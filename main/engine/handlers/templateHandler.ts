/** `template.inspect`: the template of an open model, looked at with a sample conversation or one that is given. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { TemplateSample } from "../../contract/views/template.ts";
import { TEMPLATE_SAMPLES } from "../../contract/views/template.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { inspectTemplateSteps, messagesIn, templateIn } from "../../runtime/templates/inspect.ts";
import { SAMPLE_CONVERSATIONS, SAMPLE_TOOLS } from "../../runtime/templates/samples.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { inSlices } from "../models/taskCache.ts";
import { jsonOrText, listOf, supportOf, templateView } from "./chats.ts";

const sampleOf = (id: TemplateSample): (typeof SAMPLE_CONVERSATIONS)[number] => {
  const found = SAMPLE_CONVERSATIONS.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new WorkbenchError("BUG_INVARIANT", `[template] there is no sample ${id}`);
};

export function templateHandler(store: ModelStore): EngineHandlers["calls"]["template.inspect"] {
  return async ({ model: id, conversation, generationPrompt, against, ...options }, { signal }) => {
    const model = store.get(id);
    const { tools, variables = {} } = options;
    const sample = conversation.kind === "sample" ? sampleOf(conversation.id) : undefined;
    const given = tools === undefined ? null : listOf("tools", tools);
    const messages = conversation.kind === "messages" ? messagesIn(conversation.json) : (sample?.messages ?? []);
    const told = given ?? (sample?.hasTools === true ? SAMPLE_TOOLS : null);
    const support = supportOf(model, { ...options, ...(told === null ? {} : { tools: JSON.stringify(told) }) });
    if (support.kind === "none")
      throw new WorkbenchError("INPUT_TEMPLATE", `[template] ${support.sentence}`, {
        hint: "Use a model with a chat template.",
      });
    const steps = inspectTemplateSteps(support.template, model.tokenizer, {
      messages,
      tools: told,
      addGenerationPrompt: generationPrompt,
      variables: Object.fromEntries(Object.entries(variables).map(([name, text]) => [name, jsonOrText(text)])),
      ...(against === null ? {} : { against: templateIn(against) }),
    });
    const { rendered: _, ...about } = templateView(model, { ...options, messages: null });
    const report = await inSlices(steps, signal);
    const samples = TEMPLATE_SAMPLES.map((name) => ({ id: name, title: sampleOf(name).title }));
    return { about, samples, ...report };
  };
}
