/** The engine about itself: the machine, its devices, its memory and jobs, and the doctor's findings. */
import { z } from "zod";
import type { View } from "../define.ts";
import { cacheType, figure, modelId } from "./common.ts";
import { backend } from "./graph.ts";
import { macFacts } from "./mac.ts";

/** A device is named by its id in the engine's list (`devices` of `engine.info`): no other code knows which there are. */
export const runDevice = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/u, "expected the id of a device: lower case letters, digits and hyphens");
export type RunDevice = z.output<typeof runDevice>;

/** What is taken when nothing is said: every build has it, if only with the reference in its place. */
export const DEFAULT_DEVICE: RunDevice = "cpu";

/** true, or in a sentence why not. */
const can = z.union([z.literal(true), z.string()]);
export const capabilities = z.object({
  /** Runs models. */
  tokens: can,
  /** Its runs may be measured. */
  measure: can,
  /** Tells what each operation took. */
  profile: can,
  /** A conversation goes back, forks, is saved and restored. */
  rewind: can,
  train: can,
  /** Tells where the system plans to run each operation. */
  plan: can,
  /** Compiles any graph, so that small ones can be measured on it. */
  graphs: can,
  /** Runs the parts of a cut graph between those of the host. */
  segments: can,
});
export type Capability = keyof z.output<typeof capabilities>;

export const deviceInfo = z.object({
  id: runDevice,
  title: z.string(),
  /** The runtime that it is, or that it simulates; null: one of its own. */
  backend: backend.nullable(),
  available: z.boolean(),
  /** What it is here, or what is missing and how to get it. */
  sentence: z.string(),
  /** What does the same work where this one is missing. */
  instead: runDevice.nullable(),
  capabilities,
  /** Types that it can keep keys and values in; absent where they follow from something else. */
  cacheTypes: z.array(cacheType).optional(),
});
export type DeviceInfo = View<typeof deviceInfo>;

/** The offer that is a graph and no model. */
export const DEMO_OFFER = "demo-hybrid";
/** What the first screen offers besides files. */
export const offer = z.object({
  id: z.string(),
  kind: z.enum(["sample", "header-only", "demo-graph"]),
  title: z.string(),
  sentence: z.string(),
  bytes: z.number(),
});
export type Offer = View<typeof offer>;

export const engineInfo = z.object({
  version: z.string(),
  contractVersion: z.number(),
  platform: z.enum(["darwin", "linux", "win32", "other"]),
  osTitle: z.string(),
  chip: z.string(),
  cpu: z.object({ cores: z.number(), threads: z.number(), features: z.array(z.string()), kernels: z.string() }),
  memory: z.object({ totalBytes: z.number(), freeBytes: z.number() }),
  /** Read bandwidth of this machine, once something has measured it. */
  readBandwidth: figure.nullable(),
  devices: z.array(deviceInfo),
  offers: z.array(offer),
});
export type EngineInfo = View<typeof engineInfo>;

export const job = z.object({
  id: z.string(),
  kind: z.enum([
    "run",
    "bench",
    "profile",
    "export",
    "compile",
    "upload",
    "hybrid",
    "calibrate",
    "convert",
    "quantize",
    "check",
    "compare",
    "train",
  ]),
  title: z.string(),
  /** The open model that it is about; each window has its own. null: the engine's own work. */
  model: modelId.nullable(),
  phase: z.string(),
  fraction: z.number().nullable(),
  elapsedSeconds: z.number(),
});
export type Job = View<typeof job>;

/** Sent when something changes and at least every two seconds while a job runs. */
export const engineStatus = z.object({
  engineBytes: z.number(),
  freeBytes: z.number(),
  totalBytes: z.number(),
  jobs: z.array(job),
  /** What each open model takes: its weights once they are loaded, and the caches of its sessions. */
  models: z.array(z.object({ model: modelId, bytes: z.number() })),
});
export type EngineStatus = View<typeof engineStatus>;

export const notice = z.object({
  level: z.enum(["info", "warning", "error"]),
  code: z.string().nullable(),
  sentence: z.string(),
  hint: z.string().nullable(),
});
export type Notice = View<typeof notice>;

/** What was removed from a folder. */
const removed = z.object({ folder: z.string(), entries: z.number(), bytes: z.number() });
export const clearedCache = z.object({
  /** Compiled plans and calibrations; null: nothing is kept. */
  plans: removed.nullable(),
  /** Models that a device has compiled; null: no device keeps any. */
  models: removed.nullable(),
  /** Entries that are still there, of both; and compiled models that another process uses. */
  left: z.number(),
  inUse: z.number(),
});

export const doctorReport = z.object({
  checks: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      state: z.enum(["ok", "warning", "missing", "info"]),
      sentence: z.string(),
      hint: z.string().nullable(),
      /** What stands behind the sentence, a line each. */
      details: z.array(z.string()).optional(),
    }),
  ),
  /** null: no Core ML here. */
  mac: macFacts.nullable().optional(),
});
export type DoctorReport = View<typeof doctorReport>;
