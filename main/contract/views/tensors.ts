/**
 * The tensors of a file and the numbers in them: the list and its groups, statistics of one, a page of its values, the check
 * of a whole file, and how far it is from another one.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { f64, figure, modelId, page, phase } from "./common.ts";
import { subject } from "./cost.ts";

export const TENSOR_SORTS = ["file", "name", "type", "parameters", "bytes", "layer", "held", "error"] as const;
export type TensorSort = (typeof TENSOR_SORTS)[number];
export const TENSOR_GROUPS = ["none", "layer", "role", "type", "form"] as const;
export type TensorGrouping = (typeof TENSOR_GROUPS)[number];

const tensorName = z.string().min(1).max(65_535);
/** Another file of the same model: a path on the engine's machine. */
const otherPath = z.string().min(1).max(4096);
const against = otherPath.nullable().default(null);

/** Which tensors are listed, and what is said of them. */
const listed = {
  model: modelId,
  query: z.string().max(200).default(""),
  /** "form" is that of `held`. */
  group: z.enum(TENSOR_GROUPS).default("none"),
  /** With it, rows say how this subject holds them in this phase. */
  held: z.object({ subject, phase }).nullable().default(null),
  /** A file that `tensors.compare` has read: its errors can be sorted by, and summed. */
  against,
};

export const tensorListInput = z.object({
  ...listed,
  /** Within a group. */
  sort: z.enum(TENSOR_SORTS).default("file"),
  descending: z.boolean().default(false),
  ...page,
});

const tensorSum = z.object({
  tensors: z.number(),
  parameters: z.number(),
  bytes: z.number(),
  bitsPerWeight: z.number(),
  /** On the device; null where no subject was asked for. */
  heldBytes: z.number().nullable(),
  /** Relative error over those that were compared; null where none was. */
  error: z.number().nullable(),
});
export type TensorSum = View<typeof tensorSum>;

export const tensorGroupsInput = z.object(listed);
export const tensorGroups = z.object({
  /** In the order of the list, which has their tensors one group after the other; empty without groups. */
  groups: z.array(tensorSum.extend({ key: z.string(), title: z.string() })),
  sum: tensorSum,
  /** What `held` says, in a sentence. */
  heldAs: z.string().nullable(),
});
export type TensorGroups = View<typeof tensorGroups>;
export type TensorGroup = TensorGroups["groups"][number];

const place = z.object({
  /** Of the expert where there is one. */
  row: z.number(),
  expert: z.number().nullable(),
  column: z.number(),
  /** The block of the row, in packed types. */
  block: z.number().nullable(),
});
export type PlaceView = View<typeof place>;

const finding = z.object({
  tensor: z.string(),
  /** "broken": no model works with it. "odd": a model may be meant so. */
  kind: z.enum(["broken", "odd"]),
  place: place.nullable(),
  sentence: z.string(),
});
export type FindingView = View<typeof finding>;

const histogram = z.object({ from: z.number(), to: z.number(), counts: z.array(z.number()) });
export type HistogramView = View<typeof histogram>;

/** A number that is null where it is beyond all numbers: the error of a row that is zero in the other file. */
const bounded = z.number().nullable();

const difference = z.object({
  /** Root of the mean square, and that over the root of the mean square of the other file's values. */
  rmse: bounded,
  relative: bounded,
  cosine: bounded,
  /** Signal to noise; null where there is no difference. */
  decibels: bounded,
  /** The two values that are farthest apart. */
  farthest: z.object({ place, difference: z.number() }).nullable(),
  /** The row with the largest relative error. */
  worst: z.object({ place, relative: bounded }).nullable(),
});

export type DifferenceView = View<typeof difference>;

export const statisticsInput = z.object({
  model: modelId,
  tensor: tensorName,
  bars: z.number().int().min(1).max(512).default(48),
  against,
});

const spread = z.object({
  what: z.enum(["scale", "minimum"]),
  count: z.number(),
  min: z.number(),
  max: z.number(),
  mean: bounded,
  std: bounded,
  zeros: z.number(),
  notFinite: z.number(),
  histogram: histogram.nullable(),
});
export type SpreadView = View<typeof spread>;

/** Numbers are of the values that are finite. */
export const tensorStatistics = z.object({
  tensor: z.string(),
  type: z.string(),
  /** Row-major, as in `tensorRow`. */
  shape: z.array(z.number()),
  elements: z.number(),
  finite: z.number(),
  min: z.number(),
  max: z.number(),
  mean: bounded,
  std: bounded,
  zeros: z.number(),
  nans: z.number(),
  infinities: z.number(),
  firstNotFinite: place.nullable(),
  rows: z.number(),
  /** Rows of nothing but zeros, in matrices. */
  deadRows: z.number(),
  firstDead: place.nullable(),
  histogram: histogram.nullable(),
  /** How the scales of blocks are spread, and the minimums where the type has some; empty for a type without blocks. */
  scales: z.array(spread),
  difference: difference.extend({ file: z.string(), type: z.string() }).nullable(),
  findings: z.array(finding),
});
export type TensorStatistics = View<typeof tensorStatistics>;

const progress = { doneBytes: z.number(), totalBytes: z.number(), elapsedSeconds: z.number() };

export const statisticsItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), ...progress }),
  z.object({ kind: z.literal("done"), statistics: tensorStatistics }),
]);

/** The largest page. */
export const PAGE_ROWS = 256;
export const PAGE_COLUMNS = 256;

export const valuesInput = z.object({
  model: modelId,
  tensor: tensorName,
  /** Of the matrices of a tensor with more than two dimensions: the expert. */
  matrix: z.number().int().min(0).default(0),
  row: z.number().int().min(0).default(0),
  column: z.number().int().min(0).default(0),
  rows: z.number().int().min(1).max(PAGE_ROWS).default(16),
  columns: z.number().int().min(1).max(PAGE_COLUMNS).default(16),
});

export const valuesPage = z.object({
  /** Of the whole tensor. */
  matrices: z.number(),
  height: z.number(),
  width: z.number(),
  /** Of this page: less than asked for at the edges. */
  rows: z.number(),
  columns: z.number(),
  /** Row after row. */
  values: f64,
});
export type ValuesPage = View<typeof valuesPage>;

export const checkInput = z.object({ model: modelId, against });

export const checkItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), tensor: z.string(), done: z.number(), of: z.number(), ...progress }),
  z.object({ kind: z.literal("finding"), finding }),
  z.object({
    kind: z.literal("done"),
    verdict: z.enum(["sound", "odd", "broken"]),
    sentence: z.string(),
    /** What to do about it. */
    advice: z.string().nullable(),
    findings: z.array(finding),
    /** That are not listed. */
    moreFindings: z.number(),
    tensors: z.number(),
    bytes: z.number(),
    /** Tensors of types that cannot be unpacked. */
    unread: z.number(),
    seconds: figure,
    /** The largest differences to the other file first. */
    compared: z.array(difference.extend({ tensor: z.string(), type: z.string(), theirs: z.string() })),
  }),
]);
export type CheckItem = View<typeof checkItem>;

const comparedTensor = difference.extend({ tensor: z.string(), type: z.string(), theirs: z.string() });
export type ComparedTensor = View<typeof comparedTensor>;

export const tensorsAgainstInput = z.object({
  model: modelId,
  against: otherPath,
  query: z.string().max(200).default(""),
});

export const tensorsAgainstItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), tensor: z.string(), done: z.number(), of: z.number(), ...progress }),
  z.object({
    kind: z.literal("done"),
    /** Name of the other file. */
    file: z.string(),
    sentence: z.string(),
    /** In the order of the file. */
    rows: z.array(comparedTensor),
    moreRows: z.number(),
    /** What cannot be compared, and why. */
    left: z.array(z.object({ tensor: z.string(), why: z.string() })),
    moreLeft: z.number(),
    onlyThere: z.array(z.string()),
    moreOnlyThere: z.number(),
    /** Over all values that were compared. */
    sum: z.object({
      tensors: z.number(),
      values: z.number(),
      rmse: bounded,
      relative: bounded,
      decibels: bounded,
    }),
    seconds: figure,
  }),
]);
export type TensorsAgainstItem = View<typeof tensorsAgainstItem>;
