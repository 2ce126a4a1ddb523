/** The ledger of compiles for the window and the command line: the list, consent, verifying after an update, the search for a culprit. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { CompileList } from "../../contract/views/compiles.ts";
import { identityOf } from "../../contract/views/session.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { CompileKeeper, EngineDevices, VerifiedAgain } from "../devices.ts";
import type { Jobs } from "../jobs.ts";
import {
  changedSentence,
  estimateLoad,
  ledgerRows,
  sameSystem,
  systemBefore,
  systemText,
} from "../models/compileLedger.ts";
import { explainFailure } from "../models/explainFailure.ts";
import { packageLowered } from "../models/hybrid.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { readsFrom, weightWork } from "../models/packageRequest.ts";
import { settledStream } from "../progressStream.ts";
import type { PackageFiles } from "../services.ts";

export interface CompileParts {
  readonly store: ModelStore;
  readonly devices: EngineDevices;
  readonly cpu: CpuAccess;
  readonly jobs: Jobs;
  readonly packages: PackageFiles;
}

type VerifyItem = StreamItemOf<"compiles.verify">;
type ExplainItem = StreamItemOf<"compiles.explain">;
type Calls = Pick<EngineHandlers["calls"], "compiles.list" | "compiles.allow">;
type Streams = Pick<EngineHandlers["streams"], "compiles.verify" | "compiles.explain">;

export function compileHandlers(parts: CompileParts): { readonly calls: Calls; readonly streams: Streams } {
  const { store, devices, jobs } = parts;
  return {
    calls: {
      "compiles.list": ({ model }) => listOf(keeperOf(devices), model === null ? undefined : store.get(model)),
      "compiles.allow": async ({ verdict }) => {
        if (await keeperOf(devices).allow(verdict)) return { ok: true };
        throw new WorkbenchError("INPUT_ARGUMENT", `[compiles] got ${verdict}, expected the name of an unsafe model`, {
          hint: "The list of compiles names those that there are (in a terminal: rlx compiles).",
        });
      },
    },
    streams: {
      "compiles.verify": async function* verify(_, { signal }) {
        const keeper = presentKeeper(devices);
        const job = jobs.start("compile", "verification after an update");
        try {
          const made = yield* settledStream<VerifyItem, VerifiedAgain>((emit) =>
            keeper.verifyAgain({
              signal,
              emit: (item) => {
                if (item.kind === "phase") job.update(item.name, item.fraction);
                emit(item);
              },
            }),
          );
          const { before, after, changes } = made;
          yield { kind: "done", before, after, changes, sentence: verifiedSentence(made) };
        } finally {
          job.end();
        }
      },
      "compiles.explain": async function* explain({ model, target, phase, most }, { signal }) {
        const keeper = presentKeeper(devices);
        const open = store.get(model);
        const job = jobs.start("compile", "search for what Core ML refuses", model);
        try {
          yield yield* settledStream<ExplainItem, ExplainItem>((emit) =>
            explainFailure({
              ...{ model: open, target, phase, most, keeper, signal },
              withPackage: packager(parts, open, signal),
              emit: (item) => {
                if (item.kind === "phase") job.update(item.name, null);
                emit(item);
              },
            }),
          );
        } finally {
          job.end();
        }
      },
    },
  };
}

function keeperOf({ listed }: EngineDevices): CompileKeeper {
  const keeper = listed.map(({ compiles }) => compiles).find((each) => each !== undefined);
  if (keeper !== undefined) return keeper;
  throw new WorkbenchError("ENV_NO_DEVICE", "[compiles] got a request, expected a device that keeps its compiles", {
    hint: "No device of this version does.",
  });
}

function presentKeeper(devices: EngineDevices): CompileKeeper {
  const keeper = keeperOf(devices);
  const missing = keeper.missing();
  if (missing === undefined) return keeper;
  throw new WorkbenchError("ENV_NO_DEVICE", `[compiles] ${missing}`, { hint: "Run it on a Mac." });
}

async function listOf(keeper: CompileKeeper, model: OpenModel | undefined): Promise<CompileList> {
  const [system, { entries, damaged, kept, unsafe }] = [keeper.system(), await keeper.facts()];
  const rows = ledgerRows(entries, { kept, unsafe, system });
  const before = system === null ? undefined : systemBefore(entries, system);
  const due = system === null ? [] : rows.filter((row) => row.kept && !sameSystem(row.last, system));
  return {
    system,
    sentence: listSentence(keeper, system, entries.length, rows),
    // Some models may have been loaded on this build already: the others are still to be verified.
    changed:
      system === null || (before === undefined && due.length === 0)
        ? null
        : changedOf(before ?? due[0]?.last ?? system, system, due.length, before !== undefined),
    estimate: model === undefined || system === null ? null : estimateOf(entries, model, system),
    rows,
    damaged,
  };
}

const changedOf = (
  before: NonNullable<CompileList["changed"]>["before"],
  now: NonNullable<CompileList["system"]>,
  toVerify: number,
  isFresh: boolean,
): CompileList["changed"] => ({
  before: { chip: before.chip, os: before.os, osBuild: before.osBuild },
  sentence: isFresh
    ? changedSentence(before, now)
    : `${toVerify} of these were last loaded on ${systemText(before)}; ${systemText(now)} runs here now.`,
  toVerify,
});

function estimateOf(
  entries: Parameters<typeof estimateLoad>[0],
  model: OpenModel,
  system: NonNullable<CompileList["system"]>,
): CompileList["estimate"] {
  if (model.file === undefined) return null;
  const { headerHash, byteLength: bytes } = model.file;
  const identity = identityOf(model.description.title, { headerHash, bytes });
  const last = entries.find((entry) => entry.identity === identity && entry.record.result === "ok")?.record;
  const [target, units] = [last?.target ?? "", last?.units ?? "cpu-ane"];
  return estimateLoad(entries, { identity, target, units, system });
}

function listSentence(
  keeper: CompileKeeper,
  system: CompileList["system"],
  loads: number,
  rows: CompileList["rows"],
): string {
  const unsafe = rows.filter((row) => row.unsafe !== null).length;
  const marked =
    unsafe === 0 ? "" : ` ${unsafe} ended ${unsafe === 1 ? "its" : "their"} helper and will not load again by itself.`;
  const known = `${loads} ${loads === 1 ? "first load" : "first loads"} of ${rows.length} ${rows.length === 1 ? "program" : "programs"} in the ledger.${marked}`;
  if (system === null) return `${keeper.missing() ?? ""}${loads === 0 ? "" : ` ${known}`}`;
  const played = system.truth === "simulated" ? " Core ML is simulated here: these are not the times of a Mac." : "";
  return `${system.chip}, ${systemText(system)}. ${known}${played}`;
}

function verifiedSentence({ before, after, models, changes }: VerifiedAgain): string {
  const counted = `${models} ${models === 1 ? "program" : "programs"} loaded again under ${systemText(after)}`;
  if (before === null) return `${counted}. There is no earlier system to compare with.`;
  const worse = changes.filter((change) => change.worse).length;
  if (changes.length === 0) return `${counted}. Nothing changed since ${systemText(before)}.`;
  return `${counted}. ${changes.length} ${changes.length === 1 ? "thing" : "things"} changed since ${systemText(before)}, ${worse} for the worse.`;
}

/** Packages of pieces of a model, one after the other, in a place that goes. */
function packager(
  { packages, cpu }: CompileParts,
  model: OpenModel,
  signal: AbortSignal,
): Parameters<typeof explainFailure>[0]["withPackage"] {
  return async (lowered, withPlace) => {
    const place = await packages.temporary("piece.mlpackage");
    try {
      const read = model.file === undefined ? NOTHING_TO_READ : readsFrom(model.file);
      const weights = { read, ...weightWork(cpu.absent() ? undefined : cpu.engine()) };
      await packageLowered(lowered, weights, () => packages.writer(place.path), signal);
      return await withPlace(place.path);
    } finally {
      await place.remove();
    }
  };
}

const NOTHING_TO_READ: ReturnType<typeof readsFrom> = (tensor) =>
  Promise.reject(
    new WorkbenchError("INPUT_MISSING_TENSOR", `[compiles] got a graph without a file, expected "${tensor}"`),
  );
