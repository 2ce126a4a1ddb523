/**
 * The one contract between the engine and its clients: every call, stream and event with its schemas.
 * Adding a call is one entry here and one handler in the engine; nothing else crosses. Of tensors a page of values does.
 */
import { z } from "zod";
import { call, event, stream } from "./define.ts";
import type {
  CallInput,
  CallOutput,
  EngineClient as ClientOf,
  Handlers as HandlersOf,
  StreamInput,
  StreamItem,
  CallName,
  StreamName,
} from "./define.ts";
import {
  adviceChoice,
  adviceList,
  advicePreview,
  adviceSubject,
  measureAdviceInput,
  measureAdviceItem,
} from "./views/advice.ts";
import { chatMessage, chatOptions, templateView } from "./views/chat.ts";
import { cacheType, LARGEST_CONTEXT, modelId, page, phase, targetSpec } from "./views/common.ts";
import { clearedCache, doctorReport, engineInfo, engineStatus, notice } from "./views/engine.ts";
import { compileList, compileListInput, explainInput, explainItem, verifyAgainItem } from "./views/compiles.ts";
import { convertChoice, convertInput, convertItem, convertPlan } from "./views/convert.ts";
import {
  importanceInput,
  importanceItem,
  quantizeChoice,
  quantizeInput,
  quantizeItem,
  quantizePlan,
} from "./views/quantize.ts";
import { qualityInput, qualityItem } from "./views/quality.ts";
import { templateInput, templateReport } from "./views/template.ts";
import {
  deriveInput,
  derivedText,
  formattedText,
  galleryList,
  opList,
  opSampleInput,
  bisectTextInput,
  readTextInput,
  runTextInput,
  textInput,
  textReport,
  textBisection,
  textRun,
  saveTextInput,
  textFile,
  textSource,
  textSourceInput,
} from "./views/text.ts";
import { promptCacheInput, promptCacheView } from "./views/promptCache.ts";
import { exportInput, exportItem, exportModel, exportPlan } from "./views/export.ts";
import {
  backend,
  bisection,
  graphKey,
  graphView,
  nodeView,
  overlayKind,
  overlayView,
  passDiff,
  passList,
  precision,
  ROUTED,
  stepsInput,
  stepsItem,
  textFound,
  textPage,
  watched,
} from "./views/graph.ts";
import {
  adapterSource,
  dropped,
  fileBlocks,
  fileSize,
  headerNeed,
  locateResult,
  metadataPage,
  metadataValue,
  modelSource,
  overview,
  recent,
  tensorPage,
  uploadChunk,
  uploadStarted,
  weightErrors,
} from "./views/model.ts";
import { findInput, foundList, lookInput, lookResult } from "./views/found.ts";
import { preferencesChange, preferencesView } from "./views/preferences.ts";
import { adviceInput, calibrateInput, calibrateItem, deviceAdvice, machineState } from "./views/machine.ts";
import { verifyItem } from "./views/mac.ts";
import { mlxRoute, mlxRouteInput } from "./views/mlx.ts";
import { compareInput, compareItem, mergedGraph, mergeInput } from "./views/compare.ts";
import { costView, subject, verdict } from "./views/cost.ts";
import { plannedRoute, routeComparison, routeView, targetList } from "./views/route.ts";
import { benchInput, benchItem } from "./views/bench.ts";
import { hybridInput, hybridView, profileInput, profileItem, runInput, runItem } from "./views/run.ts";
import {
  checkInput,
  checkItem,
  tensorsAgainstInput,
  tensorsAgainstItem,
  statisticsInput,
  statisticsItem,
  tensorGroups,
  tensorGroupsInput,
  tensorListInput,
  valuesInput,
  valuesPage,
} from "./views/tensors.ts";
import { serverInput, serverItem, serverStatus } from "./views/server.ts";
import { embedInput, embedItem, rerankInput, rerankItem } from "./views/embed.ts";
import { historyEntry, historyKind, historyPage, LARGEST_DOCUMENT, sessionId, sessionRow } from "./views/session.ts";
import { reportInput, reportPage } from "./views/report.ts";
import { runId, trainItem, trainPlan, trainRecipes, trainRun, trainRuns, trainSpec } from "./views/train.ts";
import { encoded, encodeInput, expertsInput, expertsItem, scoreInput, scoreItem } from "./views/score.ts";

const nothing = z.object({});
const ok = z.object({ ok: z.literal(true) });
const ofModel = z.object({ model: modelId });
const path = z.string().min(1).max(4096);

export const contract = {
  /** Raised with every change of a schema; both sides compare it when they meet, and talk to no other. */
  version: 28,
  calls: {
    "engine.info": call(nothing, engineInfo),
    "engine.status": call(nothing, engineStatus),
    "doctor.run": call(nothing, doctorReport),
    /** What Core ML compiled here: a row for each model, function and units, with how long it takes; what an update changed. */
    "compiles.list": call(compileListInput, compileList),
    /** Lets a model be tried once more that ended its helper; the name of the verdict is in the row and in the error. */
    "compiles.allow": call(z.object({ verdict: z.string().min(1).max(1000) }), ok),
    /** Removes compiled plans, calibrations and Core ML models that are kept on disk. */
    "cache.clear": call(nothing, clearedCache),

    "recents.list": call(nothing, z.object({ recents: z.array(recent) })),
    "recents.add": call(z.object({ path }), ok),
    "recents.remove": call(z.object({ path }), ok),

    /** What is set once for this machine. */
    "preferences.get": call(nothing, preferencesView),
    "preferences.set": call(preferencesChange, preferencesView),
    /** Folders that models are looked for in, beside the usual places. */
    "models.addFolder": call(z.object({ path }), preferencesView),
    "models.removeFolder": call(z.object({ path }), preferencesView),
    /** What lies at a path that was dropped: a model, or a folder with some. */
    "models.look": call(lookInput, lookResult),

    /** Documents of windows, as text (`sessionDocument`). */
    "sessions.list": call(
      z.object({ limit: z.number().int().min(1).max(200).default(20) }),
      z.object({ sessions: z.array(sessionRow) }),
    ),
    "sessions.load": call(z.object({ session: sessionId }), z.object({ text: z.string() })),
    /** Written whole, or not at all. */
    "sessions.save": call(z.object({ session: sessionId, text: z.string().min(1).max(LARGEST_DOCUMENT) }), ok),
    /** A session file on the engine's machine, as text. */
    "sessions.read": call(z.object({ path }), z.object({ text: z.string() })),
    "sessions.remove": call(z.object({ session: sessionId }), ok),
    /** Lines that stay: benchmarks ("bench"), and what else is measured. */
    "history.append": call(z.object({ kind: historyKind, entry: historyEntry }), ok),
    "history.list": call(
      z.object({
        kind: historyKind,
        identity: z.string().min(1).max(200).nullable().default(null),
        limit: z.number().int().min(1).max(10_000).default(200),
      }),
      historyPage,
    ),

    "model.open": call(
      z.object({ source: modelSource, adapters: z.array(adapterSource).max(16).default([]) }),
      overview,
    ),
    "model.close": call(ofModel, ok),
    /** The overview again, for another context length or target. */
    "model.overview": call(
      z.object({
        model: modelId,
        context: z.number().int().min(1).max(LARGEST_CONTEXT).nullable().default(null),
        target: targetSpec.nullable().default(null),
        /** Of keys and values: what keeps them so is forecast first. */
        cacheType: cacheType.nullable().optional(),
      }),
      overview,
    ),
    "model.weightErrors": call(ofModel, weightErrors),
    "model.metadata": call(z.object({ model: modelId, query: z.string().max(200).default(""), ...page }), metadataPage),
    "model.metadataValue": call(
      z.object({ model: modelId, key: z.string().min(1).max(65_535), ...page }),
      metadataValue,
    ),
    "model.tensors": call(tensorListInput, tensorPage),
    /** Sums over the groups of the list, and over all of it. */
    "tensors.groups": call(tensorGroupsInput, tensorGroups),

    "model.blocks": call(ofModel, fileBlocks),

    /** A dropped file without a path: the engine asks for ranges until it has the header, then opens `{kind: "header"}`. */
    "header.begin": call(dropped, headerNeed),
    "header.feed": call(
      z.object({ header: z.string().min(1).max(64), offset: fileSize, bytes: uploadChunk.shape.bytes }),
      headerNeed,
    ),
    /** Looks for the whole file of a header-only model by name, size and header hash, in known folders and the one given. */
    "model.locate": call(z.object({ model: modelId, folder: path.nullable().default(null) }), locateResult),
    /** Looks for the file of a session's model, which is not where it was. */
    "model.find": call(
      z.object({
        name: z.string().min(1).max(4096),
        headerHash: z.string().min(1).max(128),
        bytes: fileSize,
        folder: path.nullable().default(null),
      }),
      locateResult,
    ),
    /** Gives a header-only model its data; the handle stays. Fails when size or header hash differ. */
    "model.attach": call(z.object({ model: modelId, source: modelSource }), overview),
    /** Of a file and those beside it that its model needs, one behind the other. */
    "upload.begin": call(dropped, uploadStarted),
    /** Pieces in order, each of one file; offsets go on from file to file. The answer is the back-pressure. */
    "upload.chunk": call(uploadChunk, z.object({ receivedBytes: z.number() })),
    "upload.finish": call(z.object({ upload: z.string().min(1).max(64) }), ok),
    "upload.cancel": call(z.object({ upload: z.string().min(1).max(64) }), ok),

    "graph.get": call(graphKey, graphView),
    "graph.node": call(
      z.object({ key: graphKey, node: z.number().int().min(0), target: targetSpec.nullable().default(null) }),
      nodeView,
    ),
    "graph.overlay": call(z.object({ key: graphKey, kind: overlayKind, target: targetSpec }), overlayView),
    "passes.list": call(
      z.object({ model: modelId, backend, phase, target: targetSpec, precision: precision.default("f32") }),
      passList,
    ),
    "passes.diff": call(
      z.object({
        model: modelId,
        backend,
        phase,
        target: targetSpec,
        precision: precision.default("f32"),
        pass: z.string().min(1).max(100),
        full: z.boolean().default(false),
      }),
      passDiff,
    ),
    /** Halves the way of a graph to its backend until the step is found that made something worse. */
    "passes.bisect": call(
      stepsInput.extend({ watched, from: z.string().min(1).max(100).nullable().default(null) }),
      bisection,
    ),
    "text.page": call(
      z.object({
        key: graphKey,
        language: z.enum(["rlx-ir", "mil", "plan"]),
        target: targetSpec,
        firstLine: z.number().int().min(0).default(0),
        /** The page on which this node's first line stands, instead of the one that begins at `firstLine`. */
        around: z.number().int().min(0).nullable().default(null),
        lines: z.number().int().min(1).max(20_000).default(5000),
      }),
      textPage,
    ),
    /** The graphs of two sides as one, for a drawing that says what was added, removed and changed. */
    "compare.graph": call(mergeInput, mergedGraph),
    /** Where something stands in all of a program's text, whatever page is shown; upper and lower case are the same. */
    "text.find": call(
      z.object({
        key: graphKey,
        language: z.enum(["rlx-ir", "mil", "plan"]),
        target: targetSpec,
        query: z.string().min(1).max(200),
      }),
      textFound,
    ),

    "targets.list": call(nothing, targetList),
    /** Where a runtime runs the legal graph: Core ML as predicted for the target, the others on their one device. */
    "route.get": call(
      z.object({ model: modelId, backend: backend.default(ROUTED.backend), target: targetSpec, phase }),
      routeView,
    ),
    /** Predicted seconds over the legal graph of the subject's backend. */
    "cost.get": call(z.object({ model: modelId, subject, phase }), costView),
    /** How fast it would be. The own row alone is there first; all of them are worked out once and kept with the model. */
    "verdict.get": call(
      z.object({
        model: modelId,
        subject,
        rows: z.enum(["own", "all"]).default("all"),
        /** Of keys and values, where the memory is forecast of what can keep them so. */
        cacheType: cacheType.nullable().optional(),
      }),
      verdict,
    ),
    "route.compare": call(
      z.object({ model: modelId, phase, targets: z.array(targetSpec).min(1).max(16) }),
      routeComparison,
    ),
    /** What Core ML itself plans on this machine, beside the prediction; exports and compiles the model when that was not done. */
    "route.planned": call(z.object({ model: modelId, target: targetSpec, phase }), plannedRoute),
    /** What MLX would do with the same graph, op by op and weight by weight. */
    "route.mlx": call(mlxRouteInput, mlxRoute),

    /** What would make the model faster on a subject, the largest gain first. */
    "advice.list": call(adviceSubject, adviceList),
    /** The route with an advice applied, and numbers before and after. */
    "advice.preview": call(adviceChoice, advicePreview),

    /** What is seen, as one page of HTML that needs nothing else, and its head as Markdown. */
    "report.make": call(reportInput, reportPage),

    "machine.state": call(nothing, machineState),
    /** Which device is fastest here for a model, by what was measured; measures nothing itself. */
    "devices.advise": call(adviceInput, deviceAdvice),

    "chat.template": call(
      z.object({ model: modelId, messages: z.array(chatMessage).max(10_000).nullable().default(null), ...chatOptions }),
      templateView,
    ),
    /** Text, tokens, what the template leaves out or refuses, calls there and back, and another template beside it. */
    "template.inspect": call(templateInput, templateReport),
    /** The session that answered last, as a file; only a prompt cache is written over. */
    "prompt.save": call(promptCacheInput.extend({ overwrite: z.boolean().default(false) }), promptCacheView),
    /** The next prompt runs only what it does not share with the file. */
    "prompt.load": call(promptCacheInput, promptCacheView),
    /** Runs a demo graph once through its segments. */
    "hybrid.run": call(hybridInput, hybridView),

    "export.plan": call(exportModel, exportPlan),
    "convert.plan": call(convertChoice, convertPlan),
    "quantize.plan": call(quantizeChoice, quantizePlan),
    /** Graphs as text: everything that is wrong with one, or what it is. */
    "text.read": call(readTextInput, textReport),
    "text.format": call(textInput, formattedText),
    "text.derive": call(deriveInput, derivedText),
    /** Once, beside the float64 reference. */
    "text.run": call(runTextInput, textRun),
    /** Which pass changes the result of a graph. */
    "text.bisect": call(bisectTextInput, textBisection),
    /** The text that an open graph was read from. */
    "text.source": call(textSourceInput, textSource),
    /** Writes a text to its file; what another program has written there stays unless it may go. */
    "text.save": call(saveTextInput, textFile),
    "text.gallery": call(nothing, galleryList),
    /** Every op: what it is, and what runs it. */
    "ops.list": call(nothing, opList),
    /** A sample of an op as the text of a graph. */
    "ops.sample": call(opSampleInput, derivedText),
    "tokens.encode": call(encodeInput, encoded),
    /** The engine's HTTP server for other programs, in OpenAI's form (docs/server.md). */
    "server.start": call(serverInput, serverStatus),
    "server.stop": call(nothing, serverStatus),
    /** A window of a tensor's values, unpacked. */
    "tensors.values": call(valuesInput, valuesPage),

    /** What can be trained here, on which devices, by which optimisers. */
    "train.recipes": call(nothing, trainRecipes),
    "train.plan": call(trainSpec, trainPlan),
    /** Before the next step; a run that has ended is refused. */
    "train.pause": call(z.object({ run: runId }), ok),
    "train.resume": call(z.object({ run: runId }), ok),
    /** Ends it after the step that it is in, and saves what the spec names. Leaving the stream of a run drops it instead. */
    "train.stop": call(z.object({ run: runId }), ok),
    /** Runs that are kept on this machine. */
    "train.runs": call(z.object({ limit: z.number().int().min(1).max(1000).default(100) }), trainRuns),
    "train.run": call(z.object({ run: runId }), trainRun),
    /** Its record; files that it wrote stay. */
    "train.forget": call(z.object({ run: runId }), ok),
  },
  streams: {
    /** Models on this machine; a list for each change. */
    "models.find": stream(findInput, foundList),
    "run.start": stream(runInput, runItem),
    /** What each step of the pipeline is worth, one after the other. */
    "passes.steps": stream(stepsInput, stepsItem),
    "bench.run": stream(benchInput, benchItem),
    "profile.run": stream(profileInput, profileItem),
    /** Two sides against each other: structure, routing, numbers, and what is known of speed and words. */
    "compare.run": stream(compareInput, compareItem),
    /** Before and after in turns, and a verdict that is kept for this machine. */
    "advice.measure": stream(measureAdviceInput, measureAdviceItem),
    /** Measures what is not known of the devices, then advises. */
    "devices.calibrate": stream(calibrateInput, calibrateItem),
    "export.start": stream(exportInput, exportItem),
    "convert.run": stream(convertInput, convertItem),
    "quantize.run": stream(quantizeInput, quantizeItem),
    /** What each weight is multiplied by over a text, as an importance matrix. */
    "quantize.importance": stream(importanceInput, importanceItem),
    "tensors.statistics": stream(statisticsInput, statisticsItem),
    /** Is this file broken? Reads every tensor once. */
    "tensors.check": stream(checkInput, checkItem),
    /** How far every tensor is from that of another file of the same model. */
    "tensors.compare": stream(tensorsAgainstInput, tensorsAgainstItem),
    "score.run": stream(scoreInput, scoreItem),
    /** Several files of one model held against the first, over a text. */
    "quality.run": stream(qualityInput, qualityItem),
    "experts.run": stream(expertsInput, expertsItem),
    "embed.run": stream(embedInput, embedItem),
    "rerank.run": stream(rerankInput, rerankItem),
    /** A training run from its first step to its end. */
    "train.start": stream(trainSpec, trainItem),
    /** How the HTTP server is, and each of its requests as it goes on; until it is left. */
    "server.watch": stream(nothing, serverItem),
    /** Asks Core ML on this Mac what only it can answer, question by question. */
    "doctor.verify": stream(nothing, verifyItem),
    /** After an update of the system: the questions, and each model of the ledger, again; what changed. */
    "compiles.verify": stream(nothing, verifyAgainItem),
    /** Which operations Core ML refuses: the program and pieces of it, tried in a helper. */
    "compiles.explain": stream(explainInput, explainItem),
  },
  events: {
    "engine.status": event(engineStatus),
    "engine.notice": event(notice),
    "preferences.changed": event(preferencesView),
  },
};

export type Contract = typeof contract;
export type EngineHandlers = HandlersOf<Contract>;
export type EngineClient = ClientOf<Contract>;
export type Input<K extends CallName<Contract>> = CallInput<Contract, K>;
export type Output<K extends CallName<Contract>> = CallOutput<Contract, K>;
export type StreamInputOf<K extends StreamName<Contract>> = StreamInput<Contract, K>;
export type StreamItemOf<K extends StreamName<Contract>> = StreamItem<Contract, K>;
