/** The engine about itself, and what the doctor finds. */
import { contract } from "../../contract/contract.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { DoctorReport, EngineStatus } from "../../contract/views/engine.ts";
import type { Reading } from "../../contract/views/machine.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { VERSION } from "../../contract/version.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import type { EngineDevices } from "../devices.ts";
import { deviceList, macOf } from "../devices.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { Jobs } from "../jobs.ts";
import type { EngineServices, KeptFolder, Machine } from "../services.ts";
import { machineState } from "../measure/machineState.ts";
import type { Offers } from "../models/offers.ts";
import { REFERENCE_SENTENCE } from "../../runtime/devices/reference.ts";

export interface InfoParts extends Pick<EngineServices, "machine" | "data" | "plans"> {
  readonly cpu: CpuAccess;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly offers: Offers;
  /** What the open models take. */
  readonly models: () => EngineStatus["models"];
}

export function statusOf(
  jobs: Jobs,
  { engineBytes, freeBytes, totalBytes }: Machine,
  models: EngineStatus["models"],
): EngineStatus {
  return { engineBytes: engineBytes(), freeBytes: freeBytes(), totalBytes, jobs: [...jobs.list()], models };
}

export function infoHandlers(
  parts: InfoParts,
): Pick<EngineHandlers["calls"], "engine.info" | "engine.status" | "doctor.run"> {
  return {
    "engine.info": () => {
      const { machine } = parts;
      const engine = parts.cpu.failure() === undefined ? parts.cpu.engine() : undefined;
      return {
        version: VERSION,
        contractVersion: contract.version,
        platform: machine.platform,
        osTitle: machine.osTitle,
        chip: machine.chip,
        cpu: {
          cores: machine.cores,
          threads: machine.threads,
          features: [...(engine?.isas ?? [])],
          kernels: engine?.isa ?? "none",
        },
        memory: { totalBytes: machine.totalBytes, freeBytes: machine.freeBytes() },
        readBandwidth: null,
        devices: [...deviceList(parts.devices)],
        offers: [...parts.offers.list()],
      };
    },
    "engine.status": () => statusOf(parts.jobs, parts.machine, parts.models()),
    "doctor.run": () => doctorReport(parts),
  };
}

type Check = DoctorReport["checks"][number];

/** Which kernels are used, and why these. */
const kernelSentence = ({ isa, isas }: CpuEngine): string =>
  isas.length === 1
    ? `Loaded; ${isa} kernels, the only ones that this build and this processor have in common.`
    : `Loaded; ${isa} kernels, the widest of those that this build and this processor have in common (${isas.join(", ")}).`;

async function cacheCheck(store: KeptFolder | undefined): Promise<Check> {
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

/** Heat, power, load, and memory of devices: what is not told is a note, not a fault. The machine's memory has its own check. */
async function stateChecks(parts: InfoParts): Promise<readonly Check[]> {
  const { readings } = await machineState(parts);
  const ofDevices = parts.devices.listed.flatMap(({ id, title }): readonly Check[] => {
    const own = readings.filter(({ device }) => device === id);
    if (own.length === 0) return [];
    const told = own.map(({ title: of, value, source }) => (value === null ? source : `${of} ${value}`));
    const check = { id: `${id}-memory`, title: `${title} memory`, state: "info", hint: null } as const;
    return [{ ...check, sentence: sentenceCase(told.join(", ")) }];
  });
  const ofMachine = readings.filter(({ id, device }) => device === undefined && id !== "memory");
  return [...ofMachine.map(stateCheck), ...ofDevices];
}

const sentenceCase = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const stateCheck = ({ id, title, value, source, state }: Reading): Check => ({
  id,
  title,
  state: state === "unknown" ? "info" : state,
  sentence: sentenceCase(value === null ? source : `${value} (${source})`),
  hint: null,
});

const ENGINE = { id: "addon", title: "Native engine" } as const;

const engineCheck = (engine: CpuEngine): Check => ({
  ...ENGINE,
  state: "ok",
  sentence: kernelSentence(engine),
  hint: null,
  details: engine.notes.map(({ kernels, how }) => `${kernels}: ${how}`),
});

function missingCheck(failure: unknown, standsIn: boolean): Check {
  const { message, hint } = toWireError(failure);
  const sentence = standsIn ? `${message}. ${REFERENCE_SENTENCE}` : message;
  return { ...ENGINE, state: "missing", sentence, hint: hint ?? null };
}

async function deviceChecks({ listed }: EngineDevices): Promise<readonly Check[]> {
  const found: Check[] = [];
  for (const device of listed) found.push(...((await device.checks?.()) ?? []));
  return found;
}

async function doctorReport(parts: InfoParts): Promise<DoctorReport> {
  const failure = parts.cpu.failure();
  const { machine, data } = parts;
  const problem = await data.problem();
  const sample = parts.offers.list().find((offer) => offer.kind === "sample");
  const free = machine.freeBytes();
  return {
    mac: macOf(parts.devices),
    checks: [
      failure === undefined ? engineCheck(parts.cpu.engine()) : missingCheck(failure, parts.cpu.absent()),
      {
        id: "memory",
        title: "Memory",
        state: free < 2e9 ? "warning" : "ok",
        sentence: `${(free / 1e9).toFixed(1)} GB of ${(machine.totalBytes / 1e9).toFixed(1)} GB are free.`,
        hint: free < 2e9 ? "Close other programs before running a model of more than a billion parameters." : null,
      },
      {
        id: "processor",
        title: "Processor",
        state: "ok",
        sentence: `${machine.chip}, ${machine.threads} threads.`,
        hint: null,
      },
      ...(await deviceChecks(parts.devices)),
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
            sentence: `Recents are kept in ${data.folder}.`,
            hint: null,
          }
        : {
            id: "data",
            title: "Data folder",
            state: "warning",
            sentence: `${data.folder} cannot be written: ${problem}.`,
            hint: "Set RLX_HOME to a folder of yours.",
          },
      await cacheCheck(parts.plans),
      ...(await stateChecks(parts)),
    ],
  };
}
