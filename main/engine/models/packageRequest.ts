/** Shared by all exports: the request, and how weights are read, unpacked and measured. */
import type { ExportRequest, RequestedFunctions } from "../../backends/coreml/export.ts";
import { flexibleVariants, sourceVariants, textVariants } from "../../backends/coreml/variants.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import type { CoremlEntry } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import type { Dequantize } from "../../backends/coreml/weights/convert.ts";
import { asHalves } from "../../backends/coreml/weights/convert.ts";
import type { WeightForm } from "../../backends/coreml/weights/forms.ts";
import type { MeasureRows } from "../../backends/coreml/weights/measure.ts";
import type { WeightBytes } from "../../backends/coreml/weights/write.ts";
import type { CpuEngine, StoredRows } from "../../backends/cpu/engine.ts";
import type { CompileObserver } from "../../compiler/compile.ts";
import { compile } from "../../compiler/compile.ts";
import { VERSION } from "../../contract/version.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { Graph } from "../../ir/graph.ts";
import { TEMPLATE, isWholeText } from "../../models/template.ts";
import { opOf, opTable } from "../../ops/index.ts";

export const coremlEntry = (op: string): CoremlEntry | undefined => opOf(op)?.backends.coreml;

/** The functions of a package: decode and prefill of a decoder, or decode and its encoder; lengths of texts of an encoder. */
export function templateVariants(
  graph: Graph,
  target: PlanTarget,
  flexibility: ShapeFlexibility,
  encoder: Graph | undefined,
): RequestedFunctions {
  if (isWholeText(graph)) return { variants: textVariants(target, TEMPLATE.tokens, flexibility) };
  if (encoder !== undefined) return { variants: sourceVariants(target, TEMPLATE, encoder, flexibility) };
  return flexibleVariants(target, TEMPLATE, flexibility);
}

export interface PackageWish extends RequestedFunctions {
  readonly description: string;
  /** What the package remembers of the weights' file. */
  readonly source: string;
  /** For logs. */
  readonly packageName: string;
  readonly watch?: CompileObserver;
  /** Operations that Core ML has no rule for stay with the host (default), or are refused. */
  readonly blocked?: "keep" | "refuse";
}

export function packageRequest(graph: Graph, target: PlanTarget, wish: PackageWish): ExportRequest {
  const { description, source, packageName, watch, blocked = "keep", ...variants } = wish;
  return {
    ...variants,
    table: opTable,
    entries: coremlEntry,
    *prepare(part, name) {
      const what = `function ${name} of ${packageName}`;
      return (yield* compile(part, { ...watch, backend: "coreml", blocked, what })).graph;
    },
    graph,
    target,
    metadata: {
      shortDescription: description,
      author: "",
      license: "",
      version: VERSION,
      userDefined: { "rlx.source": source },
    },
  };
}

/** Weights of a graph whose parameters are the tensors of a file. */
export const readsFrom =
  (file: GgufFile): WeightBytes["read"] =>
  (tensor, offset, length, signal) =>
    file.readTensor(file.requireTensor(tensor), { offset, length, signal });

/** Exact values of rows through the native engine: one buffer, used again. */
export function nativeDequantize(engine: CpuEngine): Dequantize {
  return (type, bytes, count) => {
    const target = new Float32Array(count);
    engine.dequantize(type, bytes, target);
    return target;
  };
}

type Layout = Pick<StoredRows, "codes" | "group" | "scales" | "offsets">;

function layoutOf(form: Exclude<WeightForm, { kind: "palette" }>): Layout {
  switch (form.kind) {
    case "plain":
      return { codes: form.dtype, group: 0, scales: "fp16", offsets: "none" };
    case "split":
      return { codes: form.codes, group: form.block, scales: "fp16", offsets: "none" };
    case "blockwise":
      return { codes: form.codes, group: form.block, scales: form.scale, offsets: form.offset ?? "none" };
  }
}

/** The error of every element through the native engine, on a thread of its own. */
export function nativeMeasure(engine: CpuEngine): MeasureRows {
  return ({ type, original, count, form: own, parts: made, fold }, signal) => {
    const { form, parts } = own.kind === "palette" ? asHalves(own, made, 0, count) : { form: own, parts: made };
    const [scale, offset, rest] = [parts.get("scale"), parts.get("offset"), parts.get("rest")];
    return engine.storedError(
      {
        ...layoutOf(form),
        type,
        original,
        count,
        data: parts.get("data") ?? new Uint8Array(0),
        ...(scale && { scale }),
        ...(offset && { offset }),
        ...(rest && { rest }),
        unfold: 2 ** -fold,
      },
      signal,
    );
  };
}

/** What unpacks weights, and measures them: without an engine the reference does, and a sample of rows has to do. */
export const weightWork = (engine: CpuEngine | undefined): Omit<WeightBytes, "read"> =>
  engine === undefined ? { dequantize } : { dequantize: nativeDequantize(engine), measure: nativeMeasure(engine) };
