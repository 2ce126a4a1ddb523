/** Handlers that need a file's header only: opening, the overview, keys, tensors, dropped files. */
import { STORED_TYPES } from "../../backends/coreml/weights/forms.ts";
import type { CallContext } from "../../contract/define.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Ability, TargetSpec } from "../../contract/views/common.ts";
import { ROUTED } from "../../contract/views/graph.ts";
import type { Overview } from "../../contract/views/model.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import type { CacheType } from "../../models/blocks.ts";
import { USE_A_KNOWN_FAMILY, missingTensor } from "../../models/architecture.ts";
import { otherTypes } from "../../formats/gguf/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { EngineDevices } from "../devices.ts";
import { missingOf, noticeOf, runRefusal } from "../devices.ts";
import type { Runner } from "../measure/forecast.ts";
import type { Here } from "../../compiler/cost/machines.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { enginesOf, runnerOf } from "../models/costs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import type { Machine, Uploads } from "../services.ts";
import { hereOf } from "../measure/thisMachine.ts";
import { DEMO_EXPORT, demoOverview, noGraph, textOverview } from "../views/demoView.ts";
import { fileBlocks, metadataPage, metadataValue } from "../views/inspectView.ts";
import { tokenizerRefusal } from "../../tokenizer/tokenizer.ts";
import { CAN, cannot, fileOverview, plainSentence } from "../views/overviewView.ts";
import { weightErrorsOf } from "../models/weightErrors.ts";
import { profileChoices } from "../views/profileView.ts";

type InspectCalls =
  | "model.open"
  | "model.close"
  | "model.overview"
  | "model.weightErrors"
  | "model.metadata"
  | "model.metadataValue"
  | "model.blocks"
  | "header.begin"
  | "header.feed"
  | "model.locate"
  | "model.find"
  | "model.attach"
  | "upload.begin"
  | "upload.chunk"
  | "upload.finish"
  | "upload.cancel";

export interface InspectParts {
  readonly store: ModelStore;
  readonly uploads: Uploads;
  readonly initialTarget: TargetSpec;
  readonly devices: EngineDevices;
  readonly machine: Pick<Machine, "platform" | "chip" | "cores" | "totalBytes">;
}

const OK = { ok: true } as const;

export function inspectHandlers(parts: InspectParts): Pick<EngineHandlers["calls"], InspectCalls> {
  const { store, uploads } = parts;
  const overview = (model: OpenModel, target: TargetSpec, cacheType?: CacheType | null): Overview =>
    overviewOf(model, target, parts.devices, hereOf(parts), cacheType);
  const opened = new WeakMap<CallContext["onLeave"], Set<string>>();
  /** Models that a connection has open, by their ids: nothing of a closed one is kept. They are closed when it leaves. */
  const openedBy = ({ onLeave }: CallContext): Set<string> => {
    const known = opened.get(onLeave);
    if (known !== undefined) return known;
    const ids = new Set<string>();
    opened.set(onLeave, ids);
    onLeave(async () => {
      for (const id of ids) await store.leave(id);
    });
    return ids;
  };

  return {
    "model.open": async ({ source, adapters }, context) => {
      const model = await store.open(source, context.signal, adapters);
      openedBy(context).add(model.id);
      return overview(model, parts.initialTarget);
    },
    "model.close": async ({ model }, context) => {
      openedBy(context).delete(model);
      await store.close(model);
      return OK;
    },
    "model.overview": ({ model, context, target, cacheType }) => {
      const chosen = target ?? parts.initialTarget;
      return overview(store.get(model), context === null ? chosen : { ...chosen, context }, cacheType);
    },
    "model.weightErrors": ({ model }, { signal }) => weightErrorsOf(store.get(model), signal),
    "model.metadata": ({ model, query, offset, limit }) =>
      metadataPage(store.get(model).requireFile("metadata"), query, { offset, limit }),
    "model.metadataValue": ({ model, key, offset, limit }) =>
      metadataValue(store.get(model).requireFile("metadata"), key, { offset, limit }),
    "model.blocks": ({ model }) => fileBlocks(store.get(model).requireFile("blocks")),
    "header.begin": async ({ name, size, ...others }, { onLeave }) => {
      const need = await store.headers.begin(name, size, others);
      onLeave(() => store.headers.drop(need.header));
      return need;
    },
    "header.feed": ({ header, offset, bytes }) => store.headers.feed(header, offset, bytes),
    "model.find": ({ folder, ...wanted }) => store.find(wanted, folder),
    "model.locate": ({ model, folder }) => store.locate(model, folder),
    "model.attach": async ({ model, source }, { signal }) =>
      overview(await store.attach(model, source, signal), parts.initialTarget),
    "upload.begin": async ({ name, size, ...others }, { onLeave }) => {
      const begun = await uploads.begin(name, size, others);
      onLeave(() => uploads.abandon(begun.upload));
      return begun;
    },
    "upload.chunk": async ({ upload, offset, bytes }) => ({
      receivedBytes: await uploads.chunk(upload, offset, bytes),
    }),
    "upload.finish": async ({ upload }) => {
      await uploads.finish(upload);
      return OK;
    },
    "upload.cancel": async ({ upload }) => {
      await uploads.cancel(upload);
      return OK;
    },
  };
}

/** The target's package, and the engines that run the file itself; first what keeps keys and values in a type that was asked for. */
function runnersOf(target: TargetSpec, devices: EngineDevices, cacheType?: CacheType | null): readonly Runner[] {
  const all = [ROUTED.backend, ...enginesOf(devices)].map((backend) =>
    runnerOf({ backend, target }, devices, cacheType),
  );
  const asked = all.filter(({ cache }) => cache === cacheType);
  return [...asked, ...all.filter((runner) => !asked.includes(runner))];
}

export function overviewOf(
  model: OpenModel,
  target: TargetSpec,
  devices: EngineDevices,
  here: Here,
  cacheType?: CacheType | null,
): Overview {
  const { file } = model;
  const device = devices.first;
  const missing = missingOf(device);
  if (model.text !== undefined) return textOverview(model, model.text, target, missing ?? CAN);
  if (!file) return demoOverview(model, target, missing ?? CAN);
  const { description } = model;
  const canGraph = graphAbility(model, file, device.weightTypes);
  const cannotRun = canGraph.ok
    ? (typeAbility(model, device.weightTypes, "run") ?? dataAbility(model, "run"))
    : canGraph;
  const { parameters } = description;
  return fileOverview({
    model: model.id,
    kind: model.kind === "header-only" ? "header-only" : "model",
    file,
    description,
    path: model.path,
    argument: model.argument,
    openedInSeconds: model.openedInSeconds,
    target,
    machine: machineFor(target, here),
    runners: runnersOf(target, devices, cacheType),
    profiles: profileChoices(file, target),
    canGraph,
    canRun: cannotRun ?? encoderAbility(model) ?? textAbility(file) ?? runRefusal(devices, device, parameters) ?? CAN,
    canMeasure: cannotRun ?? encoderAbility(model) ?? missing ?? CAN,
    canEmbed: cannotRun ?? embedAbility(model) ?? textAbility(file) ?? runRefusal(devices, device, parameters) ?? CAN,
    reference: cannotRun === undefined ? noticeOf(devices.running(device), parameters) : null,
    canExport: canGraph.ok ? exportOf(model) : canGraph,
  });
}

export function exportAbility(model: OpenModel, devices: EngineDevices): Ability {
  const { file } = model;
  if (model.text !== undefined) return model.text.graph === undefined ? noGraph(model.text) : CAN;
  if (file === undefined) return DEMO_EXPORT;
  const canGraph = graphAbility(model, file, devices.first.weightTypes);
  return canGraph.ok ? exportOf(model) : canGraph;
}

const exportOf = (model: OpenModel): Ability =>
  typeAbility(model, STORED_TYPES, "exported") ?? dataAbility(model, "export") ?? CAN;

/** An encoder writes nothing. */
function encoderAbility({ description: { architecture } }: OpenModel): Ability | undefined {
  if (architecture.kind !== "known" || architecture.architecture.kind === "decoder") return undefined;
  return cannot(
    "UNSUPPORTED_MODEL_KIND",
    "This is an encoder: it makes vectors of texts and writes none.",
    "Use Embed, or `rlx embed`.",
  );
}

function embedAbility({ description: { architecture } }: OpenModel): Ability | undefined {
  if (architecture.kind !== "known" || architecture.architecture.embedder !== undefined) return undefined;
  return cannot(
    "UNSUPPORTED_MODEL_KIND",
    "This model writes texts; its file names no pooling, so it makes no vectors of them.",
    "Open an embedding model or a reranker.",
  );
}

/** A run reads and writes text: a tokenizer that is refused says so here, not at the first chat. */
function textAbility(file: GgufFile): Ability | undefined {
  const refusal = tokenizerRefusal(file);
  if (refusal === undefined) return undefined;
  const { code, message, hint } = toWireError(refusal);
  return cannot(code, plainSentence(message), hint ?? null);
}

/** Whether this file has a graph: a known architecture whose tensors have types the graph can use. */
function graphAbility(model: OpenModel, file: GgufFile, runs: readonly string[]): Ability {
  const { architecture, mix } = model.description;
  if (architecture.kind === "unsupported")
    return cannot("UNSUPPORTED_ARCHITECTURE", architecture.sentence, USE_A_KNOWN_FAMILY);
  const error =
    architecture.kind === "broken"
      ? architecture.error
      : model.cached("missing tensor", () => missingTensor(file, architecture.architecture));
  if (error !== undefined) {
    const { code, message, hint } = toWireError(error);
    return cannot(code, plainSentence(message), hint ?? null);
  }
  const graphed = mix.filter((row) => row.runs).map((row) => row.type);
  return typeAbility(model, [...new Set([...runs, ...graphed])], "run") ?? CAN;
}

function typeAbility(
  { description }: OpenModel,
  taken: readonly string[],
  what: "run" | "exported",
): Ability | undefined {
  const odd = otherTypes(description.mix, taken);
  if (odd.length === 0) return undefined;
  return cannot(
    "UNSUPPORTED_TENSOR_TYPE",
    `Tensors of type ${odd.join(", ")} can be inspected but not ${what}.`,
    `Use a file in one of ${taken.map((type) => type.toUpperCase()).join(", ")}.`,
  );
}

/** What is in the way of work with the weights themselves. */
export function dataAbility(model: OpenModel, what: "run" | "export" | "convert" | "quantise"): Ability | undefined {
  if (model.data.kind === "paths" || model.data.kind === "made") return undefined;
  if (model.data.kind === "none")
    return cannot(
      "INPUT_ARGUMENT",
      `This model is a header without weights: there is nothing to ${what}.`,
      "Open a file with weights.",
    );
  return cannot(
    "INPUT_NOT_FOUND",
    `Only the header of this file is here; to ${what} it the engine needs all of it.`,
    "Name its folder, or send it here.",
    "locate-or-upload",
  );
}
