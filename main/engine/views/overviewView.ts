/** The overview of an open model: what it is, whether it fits, how fast it may be, and what can be done with it here. */
import type { Ability, Fact, ReferenceNotice, TargetSpec } from "../../contract/views/common.ts";
import type { FileView, Forecast, MixRow, Overview, ProfileChoice } from "../../contract/views/model.ts";
import type { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Architecture } from "../../models/family.ts";
import type { ModelDescription } from "../../models/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { quote } from "../../formats/gguf/header.ts";
import { samplingHints } from "../../runtime/sampling/hints.ts";
import { templateRefusal } from "../../chatTemplate/chatTemplate.ts";
import { tokenizerModel } from "../../tokenizer/models.ts";
import { tokenizerRefusal } from "../../tokenizer/tokenizer.ts";
import type { Runner } from "../measure/forecast.ts";
import { AS_STORED, bytesFigure, figure, fitForecast, grouped } from "../measure/forecast.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import { keyNumbers, modelShape, nameOf, shapeByKeys } from "../measure/shape.ts";

export const CAN: Ability = { ok: true };

export const cannot = (
  code: string,
  sentence: string,
  hint: string | null = null,
  offer: "none" | "locate-or-upload" = "none",
): Ability => ({
  ok: false,
  code,
  sentence,
  hint,
  offer,
});

export interface FileOverviewInput {
  readonly model: string;
  readonly kind: "model" | "header-only";
  readonly file: GgufFile;
  readonly description: ModelDescription;
  readonly path: string | null;
  readonly argument: string | null;
  readonly openedInSeconds: number;
  readonly target: TargetSpec;
  readonly machine: Machine;
  /** What could run it: the target's first. */
  readonly runners: readonly Runner[];
  readonly profiles: readonly ProfileChoice[];
  readonly canGraph: Ability;
  readonly canRun: Ability;
  readonly canMeasure: Ability;
  readonly canEmbed: Ability;
  readonly reference: ReferenceNotice | null;
  readonly canExport: Ability;
}

export function millions(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(parameters >= 1e10 ? 1 : 2)} B`;
  if (parameters >= 1e6) return `${(parameters / 1e6).toFixed(parameters >= 1e8 ? 0 : 1)} M`;
  return grouped(parameters);
}

export function fileOverview(input: FileOverviewInput): Overview {
  const { file, description } = input;
  const reading = description.architecture;
  const architecture = reading.kind === "known" ? reading.architecture : undefined;
  // No forecast is for more positions than the model knows.
  const context = Math.min(input.target.context, description.context ?? Infinity);
  const template: TemplateState = {
    isThere: description.tokenizer?.hasChatTemplate ?? false,
    refusal: templateRefusal(file),
  };
  return {
    model: input.model,
    kind: input.kind,
    title: description.title,
    variant: description.variant,
    sentence: whatItIs(description, architecture, file, input.kind),
    architecture: reading.kind === "known" ? reading.architecture.name : (reading.name ?? "not named"),
    file: fileView(input),
    parameters: description.parameters,
    bitsPerWeight: description.bitsPerWeight ?? null,
    mix: description.mix.map((row): MixRow => ({
      type: row.type.toUpperCase(),
      tensors: row.tensors,
      parameters: row.parameters,
      bytes: row.bytes,
      share: row.share,
    })),
    mixSentence: mixSentence(description),
    facts: [
      ...(architecture
        ? architectureFacts(architecture, description, template)
        : keyFacts(file, description, template)),
      ...file.adapters.map(({ name, scale }) => ({ label: "adapter", value: `${name} × ${scale}` })),
    ],
    context: { trained: description.context ?? null, chosen: context },
    hasChatTemplate: template.isThere && template.refusal === undefined,
    samplingHints: samplingHints(file.metadata),
    forecasts: forecastsOf(input, context),
    profiles: [...input.profiles],
    canGraph: input.canGraph,
    canRun: input.canRun,
    canMeasure: input.canMeasure,
    canEmbed: input.canEmbed,
    embedder: embedderView(architecture),
    reference: input.reference,
    canExport: input.canExport,
    warnings: [
      ...description.warnings,
      ...(architecture && input.kind === "model" ? textWarnings(file) : []),
      ...templateWarnings(template.refusal),
    ],
    target: input.target,
    argument: input.argument,
  };
}

/** Whether it fits does not need a graph. */
function forecastsOf({ file, description, machine, runners }: FileOverviewInput, context: number): Forecast[] {
  const trained = description.context ?? null;
  if (description.architecture.kind !== "known") {
    const shape = shapeByKeys(file, description);
    const runner: Runner = { ...AS_STORED, title: "as the file has it" };
    return shape === undefined
      ? []
      : [{ title: runner.title, fit: fitForecast({ shape, runner, machine, context }, trained) }];
  }
  const { architecture } = description.architecture;
  return runners.map((runner) => {
    const shape = modelShape(file, architecture, runner.held);
    return { title: runner.title, fit: fitForecast({ shape, runner, machine, context }, trained) };
  });
}

/** A model without words still has a graph: said here, before a user waits for an answer. */
function textWarnings(file: GgufFile): string[] {
  const refusal = tokenizerRefusal(file);
  if (refusal === undefined) return [];
  const what = refusal.message.replace(/^\[[^\]]*\] /u, "");
  return [`It cannot read or write text here: ${what}. ${refusal.hint ?? ""}`.trimEnd()];
}

interface TemplateState {
  readonly isThere: boolean;
  /** Why it cannot be used. */
  readonly refusal: WorkbenchError | undefined;
}

function templateWarnings(refusal: WorkbenchError | undefined): string[] {
  if (refusal === undefined) return [];
  const what = refusal.message.replace(/^\[[^\]]*\] /u, "");
  return [`Its chat template cannot be used: ${what}. ${refusal.hint ?? ""}`.trimEnd()];
}

function fileView(input: FileOverviewInput): FileView {
  const { file } = input;
  return {
    name: file.name,
    path: input.path,
    bytes: file.byteLength,
    parts: file.parts.filter(({ isAdapter }) => !isAdapter).length,
    format: file.made?.from ?? `GGUF ${file.version}`,
    headerHash: file.headerHash,
    tensorCount: file.tensors.length,
    metadataCount: file.metadata.size,
    openedIn: figure(input.openedInSeconds, "seconds", "measured", "from the call to the parsed header, once"),
  };
}

const embedderView = (architecture: Architecture | undefined): Overview["embedder"] =>
  architecture?.embedder === undefined
    ? null
    : { pooling: architecture.embedder.pooling, labels: [...architecture.embedder.labels] };

function whatItIs(
  description: ModelDescription,
  architecture: Architecture | undefined,
  file: GgufFile,
  kind: "model" | "header-only",
): string {
  const size = `${millions(description.parameters)} parameters${description.bitsPerWeight === undefined ? "" : ` at ${description.bitsPerWeight.toFixed(1)} bits each`}`;
  const place =
    kind === "header-only"
      ? `${bytesFigure(file.byteLength)} if it had its data`
      : `${bytesFigure(file.byteLength)} on disk`;
  const reading = description.architecture;
  if (architecture) return `${architecture.sentence} ${size}, ${place}.`;
  if (reading.kind === "broken") return `${plainSentence(reading.error.message)} ${size}, ${place}.`;
  return `${reading.kind === "unsupported" ? reading.sentence : ""} ${size}, ${place}.`;
}

/** An error's message as a sentence, without the name in brackets. */
export const plainSentence = (message: string): string => {
  const said = message.replace(/^\[[^\]]*\] /u, "");
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}${said.endsWith(".") ? "" : "."}`;
};

function mixSentence(description: ModelDescription): string | null {
  const [most, second] = description.mix;
  if (!most) return null;
  // Rounding must not turn almost everything into all of it, nor a little into nothing.
  const share = (value: number): string =>
    value > 0.99 && value < 1
      ? "more than 99 %"
      : value < 0.01 && value > 0
        ? "less than 1 %"
        : `${Math.round(value * 100)} %`;
  if (!second) return `Everything is ${most.type.toUpperCase()}.`;
  const sentence = `${share(most.share)} of the bytes are ${most.type.toUpperCase()}, ${share(second.share)} ${second.type.toUpperCase()}.`;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

function tokenizerFacts(description: ModelDescription, { isThere, refusal }: TemplateState): Fact[] {
  const tokenizer = description.tokenizer;
  if (!tokenizer) return [{ label: "vocabulary", value: "none in the file" }];
  const title = tokenizerModel(tokenizer.model)?.title ?? tokenizer.model;
  const kind = title === "BPE" ? `${title} ${tokenizer.pre ?? ""}`.trim() : title;
  return [
    { label: "vocabulary", value: `${grouped(tokenizer.tokens)} ${kind}` },
    { label: "chat template", value: !isThere ? "no" : refusal === undefined ? "yes" : "cannot be used" },
  ];
}

/** What a file without a graph says of itself: the keys that every architecture has, as far as they are there. */
function keyFacts(file: GgufFile, description: ModelDescription, template: TemplateState): Fact[] {
  const name = nameOf(description);
  const { context } = description;
  const number = keyNumbers(file, name);
  const fact = (label: string, ...values: readonly (number | undefined)[]): Fact[] => {
    const known = values.filter((value) => value !== undefined);
    return known.length < values.length ? [] : [{ label, value: known.map(grouped).join(" × ") }];
  };
  return [
    ...(name === undefined ? [] : [{ label: "architecture", value: quote(name).slice(1, -1) }]),
    ...fact("layers × width", number("block_count"), number("embedding_length")),
    ...fact("feed-forward", number("feed_forward_length")),
    ...fact("heads", number("attention.head_count")),
    ...fact("kv heads", number("attention.head_count_kv")),
    ...fact("head size", number("attention.key_length")),
    ...fact("rope base", number("rope.freq_base")),
    ...fact("experts", number("expert_count")),
    ...fact("experts for a token", number("expert_used_count")),
    ...fact("context", context),
    ...tokenizerFacts(description, template),
  ];
}

function architectureFacts(architecture: Architecture, description: ModelDescription, template: TemplateState): Fact[] {
  return [
    ...architecture.facts.map(({ label, value }) => ({
      label,
      value: typeof value === "number" ? grouped(value) : value,
    })),
    ...tokenizerFacts(description, template),
    ...(architecture.kind === "encoder"
      ? []
      : [{ label: "output matrix", value: architecture.tiedEmbedding ? "shared with the embedding" : "its own" }]),
  ];
}
