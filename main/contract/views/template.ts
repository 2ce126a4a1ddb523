/** A look at a chat template: text, tokens, what it leaves out or refuses, and what another template makes of the same. */
import { z } from "zod";
import type { View } from "../define.ts";
import { chatOptions, LONGEST_JSON, templateView } from "./chat.ts";
import { modelId } from "./common.ts";

export const TEMPLATE_SAMPLES = ["user", "system", "turns", "tools", "tool-result", "developer", "reasoning"] as const;
export type TemplateSample = (typeof TEMPLATE_SAMPLES)[number];

export const templateInput = z.object({
  model: modelId,
  /** One of ours, or JSON: a list of messages. */
  conversation: z
    .discriminatedUnion("kind", [
      z.object({ kind: z.literal("sample"), id: z.enum(TEMPLATE_SAMPLES) }),
      z.object({ kind: z.literal("messages"), json: z.string().max(LONGEST_JSON) }),
    ])
    .default({ kind: "sample", id: "system" }),
  tools: chatOptions.tools,
  variables: chatOptions.variables,
  template: chatOptions.template,
  generationPrompt: z.boolean().default(true),
  /** Another template: its source, or a JSON file that holds one. */
  against: z.string().min(1).max(LONGEST_JSON).nullable().default(null),
});

const ability = z.object({
  id: z.string(),
  title: z.string(),
  state: z.enum(["written", "left-out", "refused", "failed"]),
  /** What the template says where it refuses, or what it means where it leaves something out. */
  sentence: z.string(),
});
export type TemplateAbilityView = View<typeof ability>;

const roundTrip = z.object({
  state: z.enum(["same", "different", "refused", "left-out", "unknown"]),
  family: z.string().nullable(),
  sentence: z.string(),
  written: z.string().nullable(),
  differences: z.array(z.string()),
});

const looked = {
  text: z.string().nullable(),
  refusal: z.string().nullable(),
  abilities: z.array(ability),
  roundTrip,
};

export const templateReport = z.object({
  about: templateView.omit({ rendered: true }),
  samples: z.array(z.object({ id: z.enum(TEMPLATE_SAMPLES), title: z.string() })),
  ...looked,
  tokens: z.array(z.object({ id: z.number(), text: z.string(), isSpecial: z.boolean() })),
  /** Marks in the text that are no tokens of the vocabulary. */
  brokenMarks: z.array(z.string()),
  against: z
    .object({
      ...looked,
      isSameSource: z.boolean(),
      lines: z.array(z.object({ kind: z.enum(["same", "removed", "added"]), text: z.string() })).nullable(),
    })
    .nullable(),
});
export type TemplateReportView = View<typeof templateReport>;
