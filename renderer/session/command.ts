/** The command line that repeats the window's last action. */
import type { SamplingNumber } from "../../main/contract/views/run.ts";
import { samplingFlag, SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../main/contract/views/run.ts";
import type { TrainSpec } from "../../main/contract/views/train.ts";
import type { Precision } from "../../main/contract/views/graph.ts";
import type { AdapterSource } from "../../main/contract/views/model.ts";
import type { CacheType, Phase, TargetSpec } from "../../main/contract/views/common.ts";
import { optionWords } from "../../main/contract/views/common.ts";
import { trainText } from "./trainCommand.ts";
import { quote } from "./quote.ts";

/** Parameters of a run, named as in the run tab; a missing one keeps the command line's default. */
interface Asked extends Readonly<Partial<Record<SamplingNumber, number>>> {
  readonly seed: number | null;
  readonly maxTokens?: number;
  readonly device?: string;
  readonly context?: number | null;
  readonly precision?: Precision;
  readonly cacheType?: CacheType | null;
  /** Texts that end the answer, one a line. */
  readonly stop?: string;
  /** Biases of tokens, one a line. */
  readonly logitBias?: string;
  readonly grammar?: string;
  readonly jsonSchema?: string;
  readonly tools?: string;
  readonly toolChoice?: string;
  /** Of the chat template, one a line. */
  readonly variables?: string;
  /** Numbers that the file names. */
  readonly hinted?: readonly string[];
}

/** The subject of a profile. */
interface Measured {
  readonly device: string;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export type CommandLine =
  | { readonly kind: "inspect" }
  /** A step of a backend, or what becomes of its legal graph: MIL, or a plan. */
  | {
      readonly kind: "graph";
      readonly backend: string;
      /** As the contract calls it; "mil" and "plan" are none. */
      readonly stage: string;
      readonly phase: Phase;
      readonly target: TargetSpec;
    }
  | { readonly kind: "route"; readonly backend: string; readonly phase: Phase; readonly target: TargetSpec }
  | { readonly kind: "passes"; readonly backend: string; readonly phase: Phase; readonly target: TargetSpec }
  | ({ readonly kind: "chat"; readonly message?: string; readonly system?: string } & Asked)
  | ({ readonly kind: "run"; readonly prompt: string } & Asked)
  /** The demo graph, part by part. */
  | { readonly kind: "hybrid"; readonly device: string | null; readonly target: TargetSpec }
  | {
      readonly kind: "bench";
      readonly device: string;
      readonly otherDevices: readonly string[];
      readonly otherModels: readonly string[];
      /** Lists, as they are typed. */
      readonly promptTokens: string;
      readonly generateTokens: string;
      readonly depth: string;
      readonly threads: string;
      readonly precision?: Precision;
      readonly cacheType?: CacheType | null;
      readonly repeats: number;
      readonly warmup: number;
      readonly seconds: number;
    }
  | ({ readonly kind: "profile" } & Measured)
  | { readonly kind: "export"; readonly target: TargetSpec; readonly path: string }
  | { readonly kind: "check"; readonly against: string | null }
  | { readonly kind: "tensors"; readonly against: string }
  /** `path` is null where the errors were only measured. */
  | {
      readonly kind: "quantize";
      readonly recipe: string;
      readonly importance: string;
      /** Exceptions, one a line. */
      readonly overrides: string;
      readonly pure: boolean;
      readonly path: string | null;
    }
  | {
      readonly kind: "convert";
      /** "" keeps the types. */
      readonly type: string;
      readonly split: "none" | "megabytes" | "tensors";
      readonly megabytes: number;
      readonly tensors: number;
      readonly path: string;
    }
  /** A spec that says everything itself. */
  | { readonly kind: "train"; readonly spec: TrainSpec }
  | { readonly kind: "doctor" };

const machineFlags = ({ chip, os, units, profile, options }: TargetSpec): readonly string[] => {
  const words = optionWords(options);
  return [
    ...["--chip", chip, "--os", os],
    ...["--units", units, "--profile", profile],
    ...(words.length === 0 ? [] : ["--options", words.join(",")]),
  ];
};

const targetFlags = (target: TargetSpec): readonly string[] => [
  ...machineFlags(target),
  "--context",
  String(target.context),
];

/** Of a target, what says something of a runtime that runs all of it on one device. */
const machineOnly = ({ chip, context }: TargetSpec): readonly string[] => [
  ...["--chip", chip],
  ...["--context", String(context)],
];

/** A flag and its value, or nothing where there is no value. */
const flag = (name: string, value: string | number | null | undefined): readonly string[] =>
  value === null || value === undefined ? [] : [name, quote(String(value))];

/** Named in any case, because they decide most. Of the others, what the command line would not take by itself. */
const ALWAYS: ReadonlySet<SamplingNumber> = new Set(["temperature", "topK", "topP", "minP", "repeatPenalty"]);
const isUsual = (name: SamplingNumber, { hinted = [], ...asked }: Asked): boolean =>
  !ALWAYS.has(name) && !hinted.includes(name) && asked[name] === SAMPLING_DEFAULTS[name];

const eachLine = (name: string, text = ""): readonly string[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : flag(name, line)));

/** One form of the answer: a schema goes before a grammar, as in the request. */
const formFlags = ({ grammar = "", jsonSchema = "" }: Asked): readonly string[] =>
  jsonSchema.trim() !== ""
    ? flag("--json-schema", jsonSchema)
    : grammar.trim() !== ""
      ? flag("--grammar", grammar)
      : [];

/** Without tools there is nothing to choose; `auto` is the command line's default. */
const toolFlags = ({ tools = "", toolChoice = "auto" }: Asked): readonly string[] =>
  tools.trim() === ""
    ? []
    : [...flag("--tools", tools), ...(toolChoice === "auto" ? [] : flag("--tool-choice", toolChoice))];

/** f32 is the command line's own. */
const precisionFlags = ({ precision = "f32" }: { readonly precision?: Precision }): readonly string[] =>
  precision === "f32" ? [] : ["--precision", precision];

const askedFlags = (asked: Asked): readonly string[] => [
  ...flag("--device", asked.device),
  ...SAMPLING_NUMBERS.flatMap((name) => (isUsual(name, asked) ? [] : flag(`--${samplingFlag(name)}`, asked[name]))),
  ...flag("--seed", asked.seed),
  ...eachLine("--stop", asked.stop),
  ...eachLine("--logit-bias", asked.logitBias),
  ...formFlags(asked),
  ...flag("--max-tokens", asked.maxTokens),
  ...flag("--context", asked.context),
  ...precisionFlags(asked),
  ...flag("--cache-type", asked.cacheType),
];

/** A list without its spaces; nothing where it is empty. */
const listFlag = (name: string, list: string): readonly string[] =>
  list.trim() === "" ? [] : flag(name, list.replaceAll(/\s+/gu, ""));

const measuredFlags = ({ device, promptTokens, generateTokens }: Measured): readonly string[] => [
  ...flag("--device", device),
  ...flag("--pp", promptTokens),
  ...flag("--tg", generateTokens),
];

const nameOf = ({ kind }: CommandLine): string => (kind === "export" ? "compile" : kind === "hybrid" ? "run" : kind);

/** Commands that read a model without its adapters. */
const WITHOUT_ADAPTERS: ReadonlySet<CommandLine["kind"]> = new Set([
  ...(["inspect", "passes", "hybrid", "quantize", "convert", "check", "doctor"] as const),
]);

/**
 * `argument`: the model on a command line, from the overview; null if the command line cannot reach
 * it.
 */
export function commandText(
  command: CommandLine,
  argument: string | null,
  adapters: readonly AdapterSource[] = [],
): string | null {
  if (command.kind === "doctor") return "rlx doctor";
  if (command.kind === "train") return trainText(command.spec);
  if (argument === null) return null;
  const rest = (): readonly string[] => {
    switch (command.kind) {
      case "inspect":
        return [];
      case "passes":
        return ["--backend", command.backend, "--phase", command.phase, ...targetFlags(command.target)];
      case "graph":
        return [
          ...(command.stage === "mil" ? ["--mil"] : ["--backend", command.backend]),
          ...(command.stage === "plan" ? ["--plan"] : command.stage === "mil" ? [] : flag("--stage", command.stage)),
          ...["--phase", command.phase],
          ...targetFlags(command.target),
        ];
      case "hybrid":
        return [...flag("--device", command.device), ...machineFlags(command.target)];
      case "route":
        return [
          ...(command.backend === "coreml" ? [] : ["--backend", command.backend]),
          ...["--phase", command.phase],
          ...(command.backend === "coreml" ? targetFlags(command.target) : machineOnly(command.target)),
        ];
      case "chat":
        return [
          ...flag("--message", command.message),
          ...(command.system === undefined || command.system.trim() === "" ? [] : flag("--system", command.system)),
          ...toolFlags(command),
          ...eachLine("--template-var", command.variables),
          ...askedFlags(command),
        ];
      case "run":
        return [...flag("--prompt", command.prompt), ...askedFlags(command)];
      case "bench":
        return [
          ...flag("--device", [command.device, ...command.otherDevices].join(",")),
          ...listFlag("--pp", command.promptTokens),
          ...listFlag("--tg", command.generateTokens),
          ...(command.depth.trim() === "0" ? [] : listFlag("--depth", command.depth)),
          ...listFlag("--threads", command.threads),
          ...precisionFlags(command),
          ...flag("--cache-type", command.cacheType),
          ...flag("--repeats", command.seconds === 0 ? command.repeats : null),
          ...flag("--seconds", command.seconds === 0 ? null : command.seconds),
          ...flag("--warmup", command.warmup),
          ...command.otherModels.flatMap((path) => flag("--also", path)),
        ];
      case "profile":
        return measuredFlags(command);
      case "export":
        return [...targetFlags(command.target), "--output", quote(command.path)];
      case "check":
      case "tensors":
        return flag("--against", command.against);
      case "quantize":
        return [
          ...["--to", command.recipe],
          ...eachLine("--tensor-type", command.overrides),
          ...(command.pure ? ["--pure"] : []),
          ...(command.importance.trim() === "" ? [] : flag("--imatrix", command.importance.trim())),
          ...(command.path === null ? ["--dry-run"] : flag("--output", command.path)),
        ];
      case "convert":
        return [
          ...(command.type === "" ? [] : flag("--type", command.type)),
          ...(command.split === "megabytes" ? flag("--split-max-size", `${command.megabytes}M`) : []),
          ...(command.split === "tensors" ? flag("--split-max-tensors", command.tensors) : []),
          ...flag("--output", command.path),
        ];
    }
  };
  const lora = WITHOUT_ADAPTERS.has(command.kind)
    ? []
    : adapters.flatMap(({ path, scale }) => flag("--lora", scale === 1 ? path : `${path}:${scale}`));
  return ["rlx", nameOf(command), argument, ...rest(), ...lora].join(" ");
}
