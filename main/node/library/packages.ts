/** Core ML packages: models and graphs exported to disk, read back, and run by the simulator. */
import type { ExportProgress, ExportReport, ExportRequest } from "../../backends/coreml/export.ts";
import { exportPackage as writePackage } from "../../backends/coreml/export.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import type { FunctionInterface } from "../../backends/coreml/features.ts";
import { openPackage as readPackage } from "../../backends/coreml/package.ts";
import type { OpenPackage } from "../../backends/coreml/package.ts";
import type { PackageRunner, PackageState } from "../../backends/coreml/package/packageRunner.ts";
import type { PackageTensor } from "../../backends/coreml/package/packageTensor.ts";
import { packageTensor } from "../../backends/coreml/package/packageTensor.ts";
import type { ChipId, PlanTarget, SystemId, Units } from "../../backends/coreml/plan/target.ts";
import { resolveTarget } from "../../backends/coreml/plan/target.ts";
import { Simulator } from "../../backends/coreml/simulator/simulator.ts";
import type { TargetOptions } from "../../backends/coreml/levers.ts";
import { NO_OPTIONS } from "../../backends/coreml/levers.ts";
import type { WeightProfile } from "../../backends/coreml/weights/forms.ts";
import type { WeightBytes } from "../../backends/coreml/weights/write.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { packageRequest, readsFrom, templateVariants, weightWork } from "../../engine/models/packageRequest.ts";
import { inSlices } from "../../engine/models/taskCache.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { finish } from "../../ir/steps.ts";
import { graphHash } from "../../ir/hash.ts";
import { freeze } from "../../library/graphs.ts";
import type { Numbers } from "../../runtime/numbers.ts";
import { requireDecoder } from "../../models/architecture.ts";
import { describeModel } from "../../models/describe.ts";
import { encoderTemplate } from "../../models/template.ts";
import { decoderIn, packageDecoderSession, readerIn } from "../../runtime/packageSession.ts";
import type { PackageReader } from "../files/packageDirectory.ts";
import { packageReader, packageWriter } from "../files/packageDirectory.ts";
import { place } from "../files/packageFiles.ts";
import { engines } from "./addon.ts";
import type { Model } from "./model.ts";
import { DEFAULT_CONTEXT, ModelSession } from "./model.ts";
import { readSettings, simulatorMemoryOf } from "../settings.ts";

/** What a package is made for, and how it is written. */
export interface PackageOptions {
  /** "m4" by default. */
  readonly chip?: ChipId;
  /** "macos15" by default. */
  readonly os?: SystemId;
  /** Where Core ML may run it: "cpu-ane" by default. */
  readonly units?: Units;
  /** How weights are stored; by default as suits the units. */
  readonly profile?: WeightProfile | "auto";
  /** Other ways to compile the same program, all off by default. */
  readonly levers?: Partial<TargetOptions>;
  /** Replace what is there. */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ExportProgress) => void;
}

export interface ModelPackageOptions extends PackageOptions {
  /** Positions of the caches: 4096 by default, or what the model was trained for. */
  readonly context?: number;
  /** Whether steps of several sizes are in the package. */
  readonly flexibility?: ShapeFlexibility;
}

export interface GraphPackageOptions extends PackageOptions {
  /** Parameters by name: a package has them as constants. */
  readonly params?: Readonly<Record<string, Numbers>>;
  /** Sizes of symbols: a package has them all fixed. */
  readonly symbols?: Bindings;
  /** Holds the tensors that the graph names. */
  readonly weights?: GgufFile;
}

function targetOf(options: PackageOptions, context: number): PlanTarget {
  const { chip = "m4", os = "macos15", units = "cpu-ane", profile = "auto", levers } = options;
  const chosen = levers === undefined ? undefined : { ...NO_OPTIONS, ...levers };
  return resolveTarget({ chip, os, units, profile, context, options: chosen }, "decode");
}

async function write(
  path: string,
  options: PackageOptions,
  request: ExportRequest,
  read: WeightBytes["read"],
): Promise<ExportReport> {
  const { overwrite = false, signal = new AbortController().signal, onProgress } = options;
  const { cpu } = engines();
  const directory = await packageWriter(await place(path, overwrite));
  return writePackage(request, {
    directory,
    weights: { read, ...weightWork(cpu.absent() ? undefined : cpu.engine()) },
    signal,
    inSlices: (steps) => inSlices(steps, signal),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}

/** Writes a model as a `.mlpackage`: decode and prefill as functions that share weights. */
export async function exportModel(
  model: Model,
  path: string,
  options: ModelPackageOptions = {},
): Promise<ExportReport> {
  const { title, variant, context: trained = DEFAULT_CONTEXT } = describeModel(model.file);
  const target = targetOf(options, Math.min(options.context ?? DEFAULT_CONTEXT, trained));
  const graph = model.graph();
  const encoder = encoderTemplate(model.file);
  const request = packageRequest(graph, target, {
    ...templateVariants(graph, target, options.flexibility ?? "fixed", encoder && finish(encoder)),
    description: `${title} ${variant}`,
    source: model.file.identity,
    packageName: path,
  });
  return write(path, options, request, readsFrom(model.file));
}

/**
 * Writes any graph as a `.mlpackage` with the function `main`. Throws UNSUPPORTED_OP where Core ML has no rule for an operation:
 * a package has no parts that a host runs.
 */
export async function exportGraph(
  graph: Graph,
  path: string,
  options: GraphPackageOptions = {},
): Promise<ExportReport> {
  const { params = {}, symbols = {}, weights } = options;
  const frozen = freeze(graph, params);
  const request = packageRequest(frozen, targetOf(options, 1), {
    variants: [{ name: "main", bindings: symbols }],
    description: graph.name,
    source: graphHash(frozen),
    packageName: path,
    blocked: "refuse",
  });
  const none: WeightBytes["read"] = (tensor) => {
    throw new WorkbenchError("INPUT_MISSING_TENSOR", `[export] weight ${tensor}: got no file that holds it`, {
      hint: "Use exportModel for the graph of a model.",
    });
  };
  return write(path, options, request, weights === undefined ? none : readsFrom(weights));
}

/** Opens a `.mlpackage` for the simulator, which runs its program in TypeScript: for checking, not for speed. */
export async function openPackage(path: string): Promise<SimulatedPackage> {
  const reader = packageReader(path);
  try {
    return new SimulatedPackage(await readPackage(reader), reader);
  } catch (error) {
    await reader.close();
    throw error;
  }
}

export interface PredictOptions {
  /** The package's default function without it. */
  readonly function?: string;
  /** Of `newState`, for packages with states. */
  readonly state?: PackageState;
  readonly signal?: AbortSignal;
}

export class SimulatedPackage {
  /** Inputs, outputs and states of each function. */
  readonly functions: readonly FunctionInterface[];
  readonly #opened: OpenPackage;
  readonly #reader: PackageReader;
  readonly #runner: PackageRunner;

  constructor(opened: OpenPackage, reader: PackageReader) {
    this.functions = opened.functions;
    this.#opened = opened;
    this.#reader = reader;
    this.#runner = new Simulator(opened, simulatorMemoryOf(readSettings(process.env)));
  }

  newState(): PackageState {
    return this.#runner.newState();
  }

  /** Runs one function. Flat numbers get the input's own shape. */
  async predict(
    inputs: Readonly<Record<string, Numbers>>,
    options: PredictOptions = {},
  ): Promise<Readonly<Record<string, PackageTensor>>> {
    const { function: name = this.#opened.defaultFunction, ...rest } = options;
    const features = this.functions.find((one) => one.name === name)?.inputs ?? [];
    const given = features.flatMap(({ name: own, dtype, shape }) => {
      const numbers = inputs[own];
      if (numbers === undefined) return [];
      return [
        "data" in numbers
          ? ([own, packageTensor(dtype, numbers.shape, numbers.data)] as const)
          : ([own, packageTensor(dtype, shape, numbers)] as const),
      ];
    });
    return this.#runner.function(name).predict(Object.fromEntries(given), rest);
  }

  /** A model's package as a session that writes text. */
  openSession(model: Model): ModelSession {
    const { userDefined } = this.#opened;
    const reader = readerIn(this.#runner, userDefined, requireDecoder(model.file).encoder);
    return new ModelSession(model, packageDecoderSession(decoderIn(this.#runner, userDefined), { reader }));
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}
