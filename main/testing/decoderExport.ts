/** The export of a decoder's file, with the options that tests and benchmarks vary. */
import type { ExportRequest, ExportRun, RequestedFunctions } from "../backends/coreml/export.ts";
import { flexibleVariants, sourceVariants, textVariants } from "../backends/coreml/variants.ts";
import type { ShapeFlexibility } from "../backends/coreml/flexible.ts";
import type { PlanTarget } from "../backends/coreml/plan/target.ts";
import type { WeightProfile } from "../backends/coreml/weights/forms.ts";
import { compile } from "../compiler/compile.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import type { Graph } from "../ir/graph.ts";
import { finish } from "../ir/steps.ts";
import { TEMPLATE, encoderTemplate, template } from "../models/template.ts";
import { opOf, opTable } from "../ops/index.ts";

export interface TemplateChoice {
  readonly context: number;
  readonly cacheType: "f32" | "f16";
  readonly largestStep?: number;
  readonly largestRows?: number;
}

export const decoderTemplate = (
  file: GgufFile,
  { context, cacheType, largestStep = 64, largestRows = 1 }: TemplateChoice,
): Graph => finish(template(file, { cacheType, largestStep, largestRows, largestCapacity: context }));

export interface ExportChoice extends TemplateChoice {
  readonly profile: WeightProfile;
  readonly flexibility?: ShapeFlexibility;
  /** Another system than macOS 15. */
  readonly os?: PlanTarget["os"];
  readonly verify?: boolean;
  readonly metadata?: Partial<ExportRequest["metadata"]>;
}

/** Its first phase is decode, on an M2. */
export function decoderExport(file: GgufFile, choice: ExportChoice): ExportRequest {
  const { profile, context, flexibility = "fixed", os = "macos15" } = choice;
  const target = { chip: "m2", os, units: "all", profile, context, phase: "decode" } as const;
  const encoder = encoderTemplate(file);
  const variants =
    encoder === undefined
      ? flexibleVariants(target, TEMPLATE, flexibility)
      : { variants: sourceVariants(target, TEMPLATE, finish(encoder), flexibility) };
  return requestOf(decoderTemplate(file, choice), file, target, variants, choice);
}

/** Of a graph of whole texts, for one length. */
export function textExport(
  graph: Graph,
  file: GgufFile,
  { profile, context }: Pick<ExportChoice, "profile" | "context">,
): ExportRequest {
  const target = { chip: "m2", os: "macos15", units: "all", profile, context, phase: "prefill" } as const;
  return requestOf(graph, file, target, { variants: textVariants(target, TEMPLATE.tokens, "fixed") }, { verify: true });
}

function requestOf(
  graph: Graph,
  file: GgufFile,
  target: PlanTarget,
  variants: RequestedFunctions,
  choice: Pick<ExportChoice, "verify" | "metadata">,
): ExportRequest {
  const { verify = false } = choice;
  return {
    table: opTable,
    entries: (op) => opOf(op)?.backends.coreml,
    *prepare(part) {
      return (yield* compile(part, { backend: "coreml", blocked: "keep", verify })).graph;
    },
    graph,
    ...variants,
    target,
    metadata: {
      shortDescription: file.name,
      author: "",
      license: "",
      version: "1",
      userDefined: {},
      ...choice.metadata,
    },
  };
}

export const weightsOf = (file: GgufFile): ExportRun["weights"] => ({
  read: (name, offset, length, signal) =>
    file.readTensor(file.requireTensor(name), { offset, length, ...(signal === undefined ? {} : { signal }) }),
  dequantize,
});
