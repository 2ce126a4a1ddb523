/** A model as it is opened: where it comes from, the overview, its metadata and tensors, recents, dropped files and uploads. */
import { z } from "zod";
import type { View } from "../define.ts";
import { pooling } from "./embed.ts";
import { samplingHints } from "./run.ts";
import { graphText, textFile } from "./text.ts";
import { ability, fact, figure, modelId, referenceNotice, sumRow, targetSpec, u8 } from "./common.ts";

/**
 * path: a file the engine can reach · offer: one of `engineInfo.offers` · header: a dropped file whose header was fed ·
 * upload: a dropped file that was sent whole · model: an open model once more, for other adapters · text: a graph as text,
 * with the file that it is an edited form of.
 */
export const modelSource = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("path"), path: z.string().min(1).max(4096) }),
  z.object({ kind: z.literal("offer"), id: z.string().min(1).max(64) }),
  z.object({ kind: z.literal("header"), header: z.string().min(1).max(64) }),
  z.object({ kind: z.literal("upload"), upload: z.string().min(1).max(64) }),
  z.object({ kind: z.literal("model"), model: modelId }),
  z.object({
    kind: z.literal("text"),
    name: z.string().min(1).max(1024),
    text: graphText,
    file: textFile.optional(),
  }),
]);
export type ModelSource = View<typeof modelSource>;

export const fileSize = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** A LoRA adapter to apply to a model that lies at a path; scale 1 as it was trained. */
export const adapterSource = z.object({ path: z.string().min(1).max(4096), scale: z.number().default(1) });
export type AdapterSource = View<typeof adapterSource>;

export const fileView = z.object({
  name: z.string(),
  /** null when the file lies on the other side of a browser and was not found here. */
  path: z.string().nullable(),
  bytes: z.number(),
  parts: z.number(),
  format: z.string(),
  headerHash: z.string(),
  tensorCount: z.number(),
  metadataCount: z.number(),
  openedIn: figure,
});
export type FileView = View<typeof fileView>;

export const mixRow = z.object({
  type: z.string(),
  tensors: z.number(),
  parameters: z.number(),
  bytes: z.number(),
  share: z.number(),
});
export type MixRow = View<typeof mixRow>;

export const fitView = z.object({
  machine: z.string(),
  context: z.number(),
  rows: z.array(sumRow),
  total: figure,
  available: figure,
  verdict: z.enum(["fits", "tight", "too-big"]),
  sentence: z.string(),
});
export type FitView = View<typeof fitView>;

/** One way to run the model: what it holds of it. How fast that can be is the verdict's. */
export const forecast = z.object({
  /** "Core ML, CPU and Neural Engine". */
  title: z.string(),
  fit: fitView,
});
export type Forecast = View<typeof forecast>;

/** The weights in each Core ML profile, side by side: size, error, and a sentence. */
export const profileChoice = z.object({
  profile: z.enum(["gpu", "ane", "exact", "f32"]),
  title: z.string(),
  bytes: figure,
  ratioToFile: z.number(),
  error: figure.nullable(),
  sentence: z.string(),
  chosenFor: z.string().nullable(),
});
export type ProfileChoice = View<typeof profileChoice>;

/** Relative error of the weights under each profile, from sampled rows; no rows where there is no data to look at. */
export const weightErrors = z.object({
  rows: z.array(z.object({ profile: z.enum(["gpu", "ane", "exact", "f32"]), error: figure, sentence: z.string() })),
});
export type WeightErrors = View<typeof weightErrors>;

export const overview = z.object({
  model: modelId,
  kind: z.enum(["model", "header-only", "demo-graph", "text"]),
  title: z.string(),
  /** The quantisation in one word ("Q4_K_M"), or what stands for it. */
  variant: z.string(),
  sentence: z.string(),
  architecture: z.string(),
  file: fileView.nullable(),
  parameters: z.number(),
  bitsPerWeight: z.number().nullable(),
  mix: z.array(mixRow),
  mixSentence: z.string().nullable(),
  facts: z.array(fact),
  context: z.object({ trained: z.number().nullable(), chosen: z.number() }),
  hasChatTemplate: z.boolean(),
  /** The file's hints for drawing tokens. */
  samplingHints,
  /** The target's first, then the other engines; none where nothing is known of its size. */
  forecasts: z.array(forecast),
  profiles: z.array(profileChoice),
  canGraph: ability,
  canRun: ability,
  /** Benchmarks and profiles, which only the native engines have. */
  canMeasure: ability,
  /** Vectors of texts, and documents sorted by a query. */
  canEmbed: ability,
  /** What the file says of its vectors; null for a model that makes none. */
  embedder: z.object({ pooling, labels: z.array(z.string()) }).nullable(),
  reference: referenceNotice.nullable(),
  canExport: ability,
  warnings: z.array(z.string()),
  target: targetSpec,
  /** What the command line calls this model: a quoted path, `--sample`, … ; null when only the window has it. */
  argument: z.string().nullable(),
});
export type Overview = View<typeof overview>;

/** A graph and no model: it has no file of weights, no tokens and no phases. */
export const isGraphAlone = (kind: Overview["kind"]): boolean => kind === "demo-graph" || kind === "text";

export const metadataRow = z.object({
  key: z.string(),
  type: z.string(),
  /** Number of elements of an array; null for a single value. */
  count: z.number().nullable(),
  preview: z.string(),
  whole: z.boolean(),
});
export type MetadataRow = View<typeof metadataRow>;
export const metadataPage = z.object({ total: z.number(), matched: z.number(), rows: z.array(metadataRow) });
export type MetadataPage = View<typeof metadataPage>;
/** A page of one value: elements of an array, or (for a long text) pieces of it that join without a separator. */
export const metadataValue = z.object({
  key: z.string(),
  type: z.string(),
  total: z.number(),
  offset: z.number(),
  items: z.array(z.string()),
});
export type MetadataValue = View<typeof metadataValue>;

/** A tensor on the device that runs it. */
export const heldTensor = z.object({
  /** "affine, 4 bits, groups of 32, scale and bias in f32"; why not, where nothing of it is held. */
  form: z.string(),
  bytes: z.number(),
});
export type HeldTensor = View<typeof heldTensor>;
export const tensorRow = z.object({
  name: z.string(),
  /** Row-major, as the graph sees it (GGUF's order reversed). */
  shape: z.array(z.number()),
  type: z.string(),
  parameters: z.number(),
  bytes: z.number(),
  bitsPerWeight: z.number(),
  layer: z.number().nullable(),
  role: z.string(),
  part: z.number(),
  offset: z.number(),
  /** How the subject that was asked for holds it; null where none was. */
  held: heldTensor.nullable(),
});
export type TensorRow = View<typeof tensorRow>;
export const tensorPage = z.object({
  total: z.number(),
  matched: z.number(),
  matchedBytes: z.number(),
  rows: z.array(tensorRow),
});
export type TensorPage = View<typeof tensorPage>;

/** The tensors of a file by block, for files of any architecture; a run stands for equal blocks. */
export const blockRun = z.object({
  /** "blk.0 to blk.27", or "" for tensors outside of blocks. */
  name: z.string(),
  blocks: z.number(),
  /** Of one block. */
  bytes: z.number(),
  roles: z.array(z.object({ role: z.string(), shape: z.array(z.number()), type: z.string(), bytes: z.number() })),
});
export type BlockRun = View<typeof blockRun>;
export const fileBlocks = z.object({
  runs: z.array(blockRun),
  /** Rows that are left out, because there are too many to look at. */
  more: z.number(),
});
export type FileBlocks = View<typeof fileBlocks>;

export const recent = z.object({
  path: z.string(),
  name: z.string(),
  folder: z.string(),
  bytes: z.number(),
  openedAt: z.number(),
  exists: z.boolean(),
  /** "Q4_K_M", as it was when the file was opened last; null before that is known. */
  variant: z.string().nullable(),
  /** Generated tokens per second, as they were measured last, on which device, and when. */
  speed: z.object({ rate: z.number(), device: z.string(), at: z.number() }).nullable(),
  /** The share of a token's work that is predicted for the Neural Engine, and for which target. */
  aneShare: z.object({ share: z.number(), target: z.string() }).nullable(),
});
export type Recent = View<typeof recent>;

const droppedFile = z.object({ name: z.string().min(1).max(1024), size: fileSize });

/** What was dropped on a window: a file, and those that lie beside it, which its model may need. */
export const dropped = droppedFile.extend({
  /** The folder that was dropped, in which the file lies; null where files were. */
  folder: z.string().min(1).max(1024).nullable().default(null),
  /** Names from the file's folder: "model.safetensors", "1_Pooling/config.json". */
  beside: z.array(droppedFile).max(4096).default([]),
});

/** The next range of a dropped file that the engine wants, or the news that the header is complete. */
export const headerNeed = z.discriminatedUnion("kind", [
  /** `file`: the name of the one to read, as it was told; null for the first. */
  z.object({
    kind: z.literal("more"),
    header: z.string(),
    file: z.string().nullable(),
    offset: z.number(),
    length: z.number(),
  }),
  z.object({ kind: z.literal("ready"), header: z.string(), foundPath: z.string().nullable() }),
]);
export type HeaderNeed = View<typeof headerNeed>;

export const locateResult = z.object({
  path: z.string().nullable(),
  searched: z.array(z.string()),
  sentence: z.string(),
});
export type LocateResult = View<typeof locateResult>;

export const uploadStarted = z.object({ upload: z.string(), chunkBytes: z.number() });
export const uploadChunk = z.object({
  upload: z.string().min(1).max(64),
  offset: z.number().int().min(0),
  bytes: u8.refine((bytes) => bytes.byteLength <= 8 << 20, "at most 8 MiB in one piece"),
});
