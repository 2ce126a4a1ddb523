/**
 * Every environment variable the engine reads, in one place; docs/environment.md is checked against this list.
 * An invalid value is an error that lists the valid ones. An empty value counts as unset.
 */
import { totalmem } from "node:os";
import type { ShapeFlexibility } from "../backends/coreml/flexible.ts";
import type { MlxMode } from "../backends/mlx/engine.ts";
import { MLX_MODES } from "../backends/mlx/engine.ts";
import type { DispatchPolicy } from "../compiler/support.ts";
import { DISPATCH_POLICIES } from "../compiler/support.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Environment } from "./files/folders.ts";
import { cacheFolder, dataFolder } from "./files/folders.ts";
import type { Place } from "./finder/places.ts";
import { usualPlaces } from "./finder/places.ts";

export const COREML_UNITS = ["cpu", "gpu", "cpu-gpu", "all", "cpu-ane"] as const;
export type CoremlUnits = (typeof COREML_UNITS)[number];

export const CPU_WEIGHTS = ["auto", "mapped", "copied"] as const;
export type CpuWeights = (typeof CPU_WEIGHTS)[number];

interface Variables {
  /** Log each compile step and pass to stderr, and verify the graph after each. */
  readonly verbose: boolean;
  /** Whether legalisation may use native rules, must decompose, or must not. */
  readonly dispatch: DispatchPolicy;
  /** Print the dispatch report after each compile. */
  readonly dispatchReport: boolean;
  readonly coremlUnits: CoremlUnits;
  /** Bake weights to f16 on export instead of keeping them packed. */
  readonly coremlHostDequant: boolean;
  /** Functions for several numbers of new tokens, instead of one token and one bucket. */
  readonly coremlFlexibleInputs: boolean;
  /** One function for any number of new tokens, with Core ML's own flexible shapes. */
  readonly coremlNativeFlex: boolean;
  /** A Core ML addon instead of the one built on this Mac; elsewhere the only way to have one. */
  readonly coremlAddon: string | null;
  /** Bytes that a simulated package may take; half of the memory without it. */
  readonly simulatorMemory: number | null;
  /** How MLX runs a graph: one evaluation per run, one per call, or a kept trace. */
  readonly mlxMode: MlxMode;
  /** Whether layers that see only the newest positions keep no others. */
  readonly rings: "on" | "off";
  /** Mapped weights in the CPU engine: larger pages allowed, left as they are, or copied. */
  readonly cpuWeights: CpuWeights;
  /** Benchmarks go on in a machine that is hot, on battery or busy; their results are marked. */
  readonly allowThrottle: boolean;
  /** Overrides the folder of caches, recents and calibration. */
  readonly home: string | null;
  /** Overrides the folder of compiled plans; "off" for none. */
  readonly cache: string | null;
  /** Overrides where the native addon is looked for; "off" for none. */
  readonly addon: string | null;
  /** Whether models are looked for where other programs keep theirs. */
  readonly findModels: "on" | "off";
  /** The key of `rlx serve --api`: command lines are for all to read. */
  readonly apiKey: string | null;
}

/** Read once, when the program starts, and passed down. */
export interface Settings extends Variables {
  /** Where recents, compiled Core ML models and notes are kept. */
  readonly dataFolder: string;
  /** Where compiled plans are kept; undefined when they are not. */
  readonly cacheFolder: string | undefined;
  /** Where other programs of this machine keep models. */
  readonly modelPlaces: readonly Place[];
}

type Variable<T> = {
  readonly name: string;
  readonly expects: string;
  readonly read: (text: string) => T | undefined;
  readonly initial: T;
  /** Capital letters are not small ones. */
  readonly isExact?: true;
  /** No message repeats its value. */
  readonly isSecret?: true;
};

const flag = (name: string): Variable<boolean> => ({
  name,
  expects: "1 or 0",
  read: (text) =>
    ["1", "true", "yes", "on"].includes(text)
      ? true
      : ["0", "false", "no", "off", ""].includes(text)
        ? false
        : undefined,
  initial: false,
});

const oneOf = <const T extends string>(name: string, values: readonly T[], initial: T): Variable<T> => ({
  name,
  expects: `one of ${values.join(", ")}`,
  read: (text) => (text === "" ? initial : values.find((value) => value === text)),
  initial,
});

/** As `oneOf`, with other names for some of the values. */
const oneNamed = <const T extends string>(
  name: string,
  values: readonly T[],
  initial: T,
  aliases: { readonly [alias: string]: T },
): Variable<T> => {
  const known = oneOf(name, values, initial);
  return { ...known, read: (text) => aliases[text] ?? known.read(text.replaceAll("_", "-")) };
};

const path = (name: string, expects = "a path"): Variable<string | null> => ({
  name,
  expects,
  read: (text) => (text === "" ? null : text),
  initial: null,
  isExact: true,
});

const pathOrOff = (name: string): Variable<string | null> => ({
  ...path(name, "a path, or off"),
  read: (text) => (text.toLowerCase() === "off" ? "off" : text === "" ? null : text),
});

const secret = (name: string): Variable<string | null> => ({
  name,
  expects: "8 to 200 letters, digits or signs without blanks",
  read: (text) => (text === "" ? null : /^[!-~]{8,200}$/u.test(text) ? text : undefined),
  initial: null,
  isExact: true,
  isSecret: true,
});

const megabytes = (name: string): Variable<number | null> => ({
  name,
  expects: "a whole number of megabytes above 0",
  read: (text) => (text === "" ? null : /^[1-9]\d{0,8}$/u.test(text) ? Number(text) * 1e6 : undefined),
  initial: null,
});

export const VARIABLES = {
  verbose: flag("RLX_VERBOSE"),
  dispatch: oneNamed("RLX_KERNEL_DISPATCH", DISPATCH_POLICIES, "prefer-native", {
    common: "force-common",
    native: "prefer-native",
  }),
  dispatchReport: flag("RLX_DISPATCH_REPORT"),
  coremlUnits: oneOf("RLX_COREML_UNITS", COREML_UNITS, "cpu-ane"),
  coremlHostDequant: flag("RLX_COREML_HOST_DEQUANT"),
  coremlFlexibleInputs: flag("RLX_COREML_FLEXIBLE_INPUTS"),
  coremlNativeFlex: flag("RLX_COREML_NATIVE_FLEX"),
  coremlAddon: path("RLX_COREML_ADDON"),
  simulatorMemory: megabytes("RLX_SIMULATOR_MEMORY"),
  mlxMode: oneOf("RLX_MLX_MODE", MLX_MODES, "compiled"),
  rings: oneOf("RLX_RINGS", ["on", "off"], "on"),
  cpuWeights: oneOf("RLX_CPU_WEIGHTS", CPU_WEIGHTS, "auto"),
  allowThrottle: flag("RLX_ALLOW_THROTTLE"),
  home: path("RLX_HOME"),
  cache: pathOrOff("RLX_CACHE"),
  addon: pathOrOff("RLX_ADDON"),
  findModels: oneOf("RLX_FIND_MODELS", ["on", "off"], "on"),
  apiKey: secret("RLX_API_KEY"),
} as const satisfies { readonly [K in keyof Variables]: Variable<Variables[K]> };

export function readSettings(environment: Environment): Settings {
  const read = <T>(variable: Variable<T>): T => {
    const text = environment[variable.name]?.trim();
    if (text === undefined) return variable.initial;
    const value = variable.read(variable.isExact === true ? text : text.toLowerCase());
    if (value === undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[${variable.name}] got ${variable.isSecret === true ? "another value" : JSON.stringify(text)}, expected ${variable.expects}`,
        { hint: `Unset ${variable.name} or give it a value of this form.` },
      );
    return value;
  };
  const folders = { home: read(VARIABLES.home), cache: read(VARIABLES.cache) };
  return {
    verbose: read(VARIABLES.verbose),
    dispatch: read(VARIABLES.dispatch),
    dispatchReport: read(VARIABLES.dispatchReport),
    coremlUnits: read(VARIABLES.coremlUnits),
    coremlHostDequant: read(VARIABLES.coremlHostDequant),
    coremlFlexibleInputs: read(VARIABLES.coremlFlexibleInputs),
    coremlNativeFlex: read(VARIABLES.coremlNativeFlex),
    coremlAddon: read(VARIABLES.coremlAddon),
    simulatorMemory: read(VARIABLES.simulatorMemory),
    mlxMode: read(VARIABLES.mlxMode),
    rings: read(VARIABLES.rings),
    cpuWeights: read(VARIABLES.cpuWeights),
    allowThrottle: read(VARIABLES.allowThrottle),
    ...folders,
    addon: read(VARIABLES.addon),
    findModels: read(VARIABLES.findModels),
    modelPlaces: read(VARIABLES.findModels) === "off" ? [] : usualPlaces(environment),
    apiKey: read(VARIABLES.apiKey),
    dataFolder: dataFolder(folders.home, environment),
    cacheFolder: cacheFolder(folders, environment),
  };
}

/** How exports and the Core ML device treat the number of new tokens; the native way is a flexible one too. */
export function shapeFlexibility(
  settings: Pick<Settings, "coremlFlexibleInputs" | "coremlNativeFlex">,
): ShapeFlexibility {
  if (settings.coremlNativeFlex) return "native";
  return settings.coremlFlexibleInputs ? "inputs" : "fixed";
}

/** Bytes that a simulated package may take: as it is set, else half of the memory. */
export const simulatorMemoryOf = ({ simulatorMemory }: Pick<Settings, "simulatorMemory">): number =>
  simulatorMemory ?? totalmem() / 2;
