/** A decoder from its file: graph, plan and weights, made once; sessions are opened over it. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { Graph } from "../ir/graph.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { finish } from "../ir/steps.ts";
import type { Disposable, GraphSession } from "../ir/session.ts";
import type { LocateWeight, MappedFiles } from "../ir/weightPlace.ts";
import { requireDecoder } from "../models/architecture.ts";
import type { DecoderArchitecture } from "../models/family.ts";
import type { CacheType } from "../models/blocks.ts";
import { RING } from "../models/blocks.ts";
import { CHUNK, encoderTemplate, template } from "../models/template.ts";
import { DecoderSession } from "./decoderSession.ts";
import { PromptPace } from "./promptPace.ts";
import type { SourceReader } from "./sourceText.ts";
import { outputNames, readerOver } from "./sourceText.ts";
import type { CompiledGraph } from "./device.ts";

/** What a decoder's plan depends on besides the file. */
export interface DecoderPlanOptions {
  /** Element type of keys and values. */
  readonly cacheType?: CacheType;
  /** Add and round as ggml does (CPU, x86: to the last bit). Default: with an f32 cache, which is there for comparing. */
  readonly asGgml?: boolean;
  /** Most tokens of a prompt that run at once. */
  readonly chunk?: number;
  /** Sessions can tell what the routers of a mixture pick (expertUse.ts). */
  readonly countsExperts?: boolean;
  /** Layers that see only the newest positions keep no others; true without it. */
  readonly rings?: boolean;
  /** In which floats `prepare` has it compute: a fact of the plan. */
  readonly precision?: PrecisionPolicy;
  /** What the compiler does to the built graph before it is lowered: passes and legalisation. */
  readonly prepare?: (graph: Graph) => Graph;
}

export interface SessionSettings {
  /** Positions the cache holds; the model's own context when absent. */
  readonly context?: number;
  readonly threads?: number;
}

export interface DecoderModel extends Disposable {
  readonly architecture: DecoderArchitecture;
  readonly compiled: CompiledGraph;
  readonly chunk: number;
  open(settings?: SessionSettings): DecoderSession;
}

const chunkOf = (options: DecoderPlanOptions, architecture: DecoderArchitecture): number =>
  Math.max(1, Math.min(options.chunk ?? CHUNK, architecture.context));

/** The prepared graph of a decoder. */
export function decoderGraph(file: GgufFile, options: DecoderPlanOptions): Graph {
  const chunk = chunkOf(options, requireDecoder(file));
  const { cacheType = "f16", countsExperts = false, rings = true } = options;
  const built = finish(template(file, { cacheType, largestStep: chunk, largestRows: chunk, countsExperts, rings }));
  return options.prepare === undefined ? built : options.prepare(built);
}

/** The prepared graph of the encoder that reads texts for the decoder; undefined where the decoder has none. */
function encoderGraph(file: GgufFile, { prepare }: DecoderPlanOptions): Graph | undefined {
  const steps = encoderTemplate(file);
  if (steps === undefined) return undefined;
  const built = finish(steps);
  return prepare === undefined ? built : prepare(built);
}

/** The files of a model, as they were when their headers were read. */
export function mappedFiles({ parts }: GgufFile, paths: readonly string[]): MappedFiles {
  const identities = parts.flatMap(({ identity }) => identity ?? []);
  return identities.length === paths.length ? { paths, identities } : { paths };
}

/** Where a model's weights are, whichever of its files holds them. */
export const locateIn =
  (file: GgufFile): LocateWeight =>
  (_file, name) => {
    const { part, offset, byteLength } = file.requireTensor(name);
    return { file: part, offset, bytes: byteLength };
  };

/** Compiles an encoder's graph as the decoder's was; what it gives must outlive the call. */
type CompileEncoder = (graph: Graph) => CompiledGraph;

/** One session of the encoder for each number of threads: it has no states. */
function readersOver(
  file: GgufFile,
  options: DecoderPlanOptions,
  compile: CompileEncoder,
): { readonly readerFor: (threads: number | undefined) => SourceReader | undefined; readonly dispose: () => void } {
  const graph = encoderGraph(file, options);
  const { encoder, context } = requireDecoder(file);
  if (graph === undefined || encoder === undefined) return { readerFor: () => undefined, dispose: () => undefined };
  const compiled = compile(graph);
  const sessions = new Map<number | undefined, GraphSession>();
  return {
    readerFor(threads) {
      const session = sessions.get(threads) ?? compiled.open(threads === undefined ? {} : { threads });
      sessions.set(threads, session);
      return readerOver(session, outputNames(graph), { start: encoder.start, largestText: context });
    },
    dispose() {
      for (const session of sessions.values()) session.dispose();
      sessions.clear();
      compiled.dispose();
    },
  };
}

/** Sessions in tokens over a compiled decoder, whatever the device. */
export function decoderOver(
  file: GgufFile,
  options: DecoderPlanOptions,
  compiled: CompiledGraph,
  compile: CompileEncoder,
): DecoderModel {
  const architecture = requireDecoder(file);
  const chunk = chunkOf(options, architecture);
  const { readerFor, dispose } = readersOver(file, options, compile);
  const pace = new PromptPace(chunk);
  return {
    architecture,
    compiled,
    chunk,
    open: ({ context, threads } = {}) => {
      const capacity = Math.max(1, Math.min(context ?? architecture.context, architecture.context));
      const { ring } = compiled;
      const rows = ring && { [RING]: Math.min(ring.rows, capacity) };
      const session = compiled.open({ symbols: { capacity, ...rows }, ...(threads === undefined ? {} : { threads }) });
      return new DecoderSession(session, {
        capacity,
        vocabulary: architecture.vocabulary,
        chunk,
        pace,
        rewind: compiled.rewind,
        ring,
        reader: readerFor(threads),
      });
    },
    dispose: () => {
      dispose();
      compiled.dispose();
    },
  };
}

export function requireData(file: GgufFile): GgufFile {
  if (file.hasData) return file;
  throw new WorkbenchError("INPUT_ARGUMENT", `[${file.name}] this model is a header without data: it cannot run`, {
    hint: "Open a file with weights.",
  });
}
