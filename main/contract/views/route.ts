/** Routing for a named target: the ribbon, the segments, the hops between them, shares by device, and targets to choose from. */
import { z } from "zod";
import type { View } from "../define.ts";
import { device, f32, figure, phase, targetSpec, truth, u32, u8 } from "./common.ts";
import { backend, graphKey, lowering } from "./graph.ts";

export const segmentView = z.object({
  index: z.number(),
  device,
  title: z.string(),
  ops: z.number(),
  firstNode: z.number(),
  lastNode: z.number(),
  /** Of the predicted time of the step. */
  workShare: z.number(),
  seconds: figure,
  /** The node that takes longest; -1 for none. */
  heaviest: z.number(),
  bytesIn: z.number(),
  bytesOut: z.number(),
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  /** Why the program is cut before this segment. */
  why: z.string(),
});
export type SegmentView = View<typeof segmentView>;

export const hopView = z.object({
  fromSegment: z.number(),
  toSegment: z.number(),
  from: device,
  to: device,
  values: z.number(),
  bytes: z.number(),
  seconds: figure,
});
export type HopView = View<typeof hopView>;

export const deviceShare = z.object({
  device,
  ops: z.number(),
  /** Of the predicted time of the step; hops are of no device. */
  workShare: z.number(),
  seconds: figure,
});
export type DeviceShare = View<typeof deviceShare>;

export const routeView = z.object({
  /** The legal graph whose node indices the columns use. */
  key: graphKey,
  /** Core ML's is placed op by op; the other runtimes run all of it on one device. */
  backend,
  target: targetSpec,
  targetTitle: z.string(),
  phase,
  truth,
  strings: z.array(z.string()),
  /**
   * Per node: device code, share of the predicted time of the step and that time, deciding rule and its sentence (string
   * indices), what it became.
   */
  nodes: z.object({ device: u8, work: f32, seconds: f32, rule: u32, reason: u32, lowering: u32 }),
  /** Of ops that are several MIL operations, by `nodes.lowering`; the first stands for all others. */
  lowerings: z.array(lowering),
  /** Stretches of one segment, device and group in the order of nodes; the ribbon draws them segment by segment, as they run. */
  runs: z.object({ device: u8, work: f32, seconds: f32, ops: u32, firstNode: u32, segment: u32 }),
  segments: z.array(segmentView),
  hops: z.array(hopView),
  devices: z.array(deviceShare),
  /** What the hops carry, and the caches that every call passes in and out. */
  bytesPerStep: figure,
  cacheBytes: z.number(),
  /** "M4, 24 GB": seconds are for it. */
  machine: z.string(),
  /** The whole step: segments, hops, and caches that are copied. */
  step: figure,
  cacheSeconds: figure,
  /** Of the step, starting segments and handing over. */
  overhead: figure,
  sentence: z.string(),
});
export type RouteView = View<typeof routeView>;

export const choice = z.object({ id: z.string(), title: z.string(), sentence: z.string() });
export const targetList = z.object({
  chips: z.array(choice),
  oses: z.array(choice),
  units: z.array(choice),
  profiles: z.array(choice),
  /** This machine, when it is a Mac that Core ML runs on. */
  here: targetSpec.nullable(),
  initial: targetSpec,
});
export type TargetList = View<typeof targetList>;

export const routeComparison = z.object({
  rows: z.array(
    z.object({
      target: targetSpec,
      title: z.string(),
      truth,
      devices: z.array(deviceShare),
      segments: z.number(),
      hops: z.number(),
      bytesPerStep: figure,
      seconds: figure,
      /** Of its weights; null for a graph without a file. */
      packageBytes: figure.nullable(),
    }),
  ),
});
export type RouteComparison = View<typeof routeComparison>;

/** One operator of the system's compute plan beside our prediction. */
export const plannedOp = z.object({
  /** Node of the legal graph; -1 for plumbing such as casts. */
  node: z.number(),
  op: z.string(),
  output: z.string(),
  predicted: device,
  planned: device,
  /** Share of the whole by the plan. */
  cost: z.number(),
  rule: z.string(),
  sentence: z.string(),
});
/** Core ML's own plan for the machine at hand, joined to the predicted route. */
export const plannedRoute = z.object({
  /** planned; simulated where Core ML is. */
  truth,
  target: targetSpec,
  targetTitle: z.string(),
  phase,
  machine: z.string(),
  /** Why there are no devices, only operators; null when there is a plan. */
  refusal: z.string().nullable(),
  sentence: z.string(),
  ops: z.number(),
  joined: z.number(),
  agreeing: z.number(),
  /** Operators that the plan puts elsewhere: `differences` has the first of them. */
  differing: z.number(),
  shares: z.array(z.object({ device, predicted: z.number(), planned: z.number() })),
  firstDifference: plannedOp.nullable(),
  differences: z.array(plannedOp),
  /** Device codes per node of the legal graph. */
  nodes: z.object({ predicted: u8, planned: u8 }),
});
export type PlannedRoute = View<typeof plannedRoute>;
