/** The engine about itself, and what the doctor finds. */
import { availableParallelism, cpus } from "node:os";
import { contract } from "../../contract/contract.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { DoctorReport, EngineStatus } from "../../contract/views/engine.ts";
import type { Reading } from "../../contract/views/machine.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { VERSION } from "../../contract/version.ts";
import type { CpuAccess } from "../devices.ts";
import { coremlSentence, deviceList, mlxSentence } from "../devices.ts";
import type { CoremlAccess } from "../../node/devices/coreml/device.ts";
import { macFacts, macLines } from "../../node/devices/coreml/macFacts.ts";
import type { MlxAccess } from "../mlxAccess.ts";
import type { Jobs } from "../jobs.ts";
import { chipTitle, freeBytes, osTitle, platformName, totalBytes } from "../../node/machine/machineInfo.ts";
import type { DiskStore } from "../../node/cache/diskStore.ts";
import { machineState } from "../../node/machine/machineState.ts";
import type { Offers } from "../models/offers.ts";
import { REFERENCE_SENTENCE } from "../models/reference.ts";

export interface InfoParts {
  readonly cpu: CpuAccess;
  readonly mlx: MlxAccess;
  readonly coreml: CoremlAccess;
  readonly jobs: Jobs;
  readonly offers: Offers;
  readonly dataFolder: string;
  readonly writable: () => Promise<string | undefined>;
  /** The compile cache; undefined when it is switched off. */
  readonly plans: DiskStore | undefined;
}

export function statusOf(jobs: Jobs): EngineStatus {
  return {
    engineBytes: process.memoryUsage.rss(),
    freeBytes: freeBytes(),
    totalBytes: totalBytes(),
    jobs: [...jobs.list()],
  };
}

export function infoHandlers(
  parts: InfoParts,
): Pick<EngineHandlers["calls"], "engine.info" | "engine.status" | "doctor.run"> {
  return {
    "engine.info": () => {
      const missing = parts.cpu.missing();
      const engine = missing === undefined ? parts.cpu.engine() : undefined;
      return {
        version: VERSION,
        contractVersion: contract.version,
        platform: platformName(),
        osTitle: osTitle(),
        chip: chipTitle(),
        cpu: {
          cores: cpus().length,
          threads: availableParallelism(),
          features: [...(engine?.isas ?? [])],
          kernels: engine?.isa ?? "none",
        },
        memory: { totalBytes: totalBytes(), freeBytes: freeBytes() },
        readBandwidth: null,
        devices: [...deviceList(parts.cpu, parts.mlx, parts.coreml)],
        offers: [...parts.offers.list()],
      };
    },
    "engine.status": () => statusOf(parts.jobs),
    "doctor.run": () => doctorReport(parts),
  };
}

type Check = DoctorReport["checks"][number];

/** Which kernels are used, and why these. */
const kernelSentence = ({ isa, isas }: CpuEngine): string =>
  isas.length === 1
    ? `Loaded; ${isa} kernels, the only ones that this build and this processor have in common.`
    : `Loaded; ${isa} kernels, the widest of those that this build and this processor have in common (${isas.join(", ")}).`;

async function cacheCheck(store: DiskStore | undefined): Promise<Check> {
  const check = { id: "cache", title: "Compile cache", state: "info" } as const;
  if (store === undefined)
    return { ...check, sentence: "Switched off: every start compiles.", hint: "Unset RLX_CACHE to keep plans." };
  const { folder, entries, bytes, limit } = await store.facts();
  return {
    ...check,
    sentence: `${entries} ${entries === 1 ? "entry" : "entries"}, ${(bytes / 1e6).toFixed(1)} of at most ${Math.round(limit / 1e6)} MB, in ${folder}.`,
    hint: entries === 0 ? null : "rlx doctor --clear-cache empties it.",
  };
}

/** Heat, power, load and MLX's memory: what is not told is a note, not a fault. The memory of the machine has its own check. */
async function stateChecks(parts: InfoParts): Promise<readonly Check[]> {
  const { readings } = await machineState(parts);
  const [mlx, others] = [true, false].map((of) => readings.filter(({ id }) => id.startsWith("mlx-") === of));
  return [
    ...(others ?? []).filter(({ id }) => id !== "memory").map(stateCheck),
    {
      id: "mlx-memory",
      title: "MLX memory",
      state: "info",
      sentence: sentenceCase(
        (mlx ?? []).map(({ title, value, source }) => (value === null ? source : `${title} ${value}`)).join(", "),
      ),
      hint: null,
    },
  ];
}

const sentenceCase = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const stateCheck = ({ id, title, value, source, state }: Reading): Check => ({
  id,
  title,
  state: state === "unknown" ? "info" : state,
  sentence: sentenceCase(value === null ? source : `${value} (${source})`),
  hint: null,
});

async function modelsCheck({ models }: CoremlAccess): Promise<Check> {
  const { folder, entries, bytes, limit } = await models.facts();
  return {
    id: "coreml-models",
    title: "Compiled Core ML models",
    state: "info",
    sentence: `${entries}, ${(bytes / 1e6).toFixed(1)} of at most ${Math.round(limit / 1e6)} MB, in ${folder}.`,
    hint:
      entries === 0
        ? null
        : "rlx doctor --clear-cache removes them; those that were not used for a month go by themselves.",
  };
}

async function doctorReport(parts: InfoParts): Promise<DoctorReport> {
  const missing = parts.cpu.missing();
  const problem = await parts.writable();
  const sample = parts.offers.list().find((offer) => offer.kind === "sample");
  const free = freeBytes();
  const mac = macFacts(parts.coreml);
  return {
    mac,
    checks: [
      missing === undefined || missing.ok
        ? {
            id: "addon",
            title: "Native engine",
            state: "ok",
            sentence: kernelSentence(parts.cpu.engine()),
            hint: null,
            details: parts.cpu.engine().notes.map(({ kernels, how }) => `${kernels}: ${how}`),
          }
        : {
            id: "addon",
            title: "Native engine",
            state: "missing",
            sentence: parts.cpu.absent() ? `${missing.sentence}. ${REFERENCE_SENTENCE}` : missing.sentence,
            hint: missing.hint,
          },
      {
        id: "memory",
        title: "Memory",
        state: free < 2e9 ? "warning" : "ok",
        sentence: `${(free / 1e9).toFixed(1)} GB of ${(totalBytes() / 1e9).toFixed(1)} GB are free.`,
        hint: free < 2e9 ? "Close other programs before running a model of more than a billion parameters." : null,
      },
      {
        id: "processor",
        title: "Processor",
        state: "ok",
        sentence: `${chipTitle()}, ${availableParallelism()} threads.`,
        hint: null,
      },
      {
        id: "coreml",
        title: "Core ML",
        state: "info",
        sentence: coremlSentence(parts.coreml),
        hint: mac?.rosetta === true ? "Use the arm64 build: translated programs do not reach the Neural Engine." : null,
        ...(mac === null ? {} : { details: macLines(mac) }),
      },
      ...(mac === null ? [] : [await modelsCheck(parts.coreml)]),
      {
        id: "mlx",
        title: "MLX",
        state: parts.mlx.missing() === undefined ? "ok" : "info",
        sentence: mlxSentence(parts.mlx),
        hint: null,
      },
      sample
        ? {
            id: "sample",
            title: "Sample model",
            state: "ok",
            sentence: `${(sample.bytes / 1e6).toFixed(1)} MB, ready.`,
            hint: null,
          }
        : {
            id: "sample",
            title: "Sample model",
            state: "missing",
            sentence: "It is not part of this installation.",
            hint: "Install the workbench again.",
          },
      problem === undefined
        ? {
            id: "data",
            title: "Data folder",
            state: "ok",
            sentence: `Recents are kept in ${parts.dataFolder}.`,
            hint: null,
          }
        : {
            id: "data",
            title: "Data folder",
            state: "warning",
            sentence: `${parts.dataFolder} cannot be written: ${problem}.`,
            hint: "Set RLX_HOME to a folder of yours.",
          },
      await cacheCheck(parts.plans),
      ...(await stateChecks(parts)),
    ],
  };
}
