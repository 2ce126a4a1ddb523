/** The command line that repeats the window's last action. */
import type { SamplingNumber } from "../../main/contract/views/run.ts";
import { samplingFlag, SAMPLING_DEFAULTS, SAMPLING_NUMBERS } from "../../main/contract/views/run.ts";
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";

/** Parameters of a run, named as in the run tab; a missing one keeps the command line's default. */
interface Asked extends Readonly<Partial<Record<SamplingNumber, number>>> {
  readonly seed: number | null;
  readonly maxTokens?: number;
  readonly device?: string;
  readonly context?: number | null;
  /** Texts that end the answer, one a line. */
  readonly stop?: string;
  /** Biases of tokens, one a line. */
  readonly logitBias?: string;
  readonly grammar?: string;
  readonly jsonSchema?: string;
  readonly tools?: string;
  /** Of the chat template, one a line. */
  readonly variables?: string;
  /** Numbers that the file names. */
  readonly hinted?: readonly string[];
}

/** The subject of a benchmark or a profile. */
interface Measured {
  readonly device: string;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export type CommandLine =
  | { readonly kind: "inspect" }
  /** A step of a backend, or the MIL that becomes of Core ML's legal graph. */
  | {
      readonly kind: "graph";
      readonly backend: string;
      /** As the contract calls it; "mil" is none. */
      readonly stage: string;
      readonly phase: Phase;
      readonly target: TargetSpec;
    }
  | { readonly kind: "route"; readonly phase: Phase; readonly target: TargetSpec }
  | { readonly kind: "passes"; readonly backend: string; readonly phase: Phase }
  | ({ readonly kind: "chat"; readonly message?: string; readonly system?: string } & Asked)
  | ({ readonly kind: "run"; readonly prompt: string } & Asked)
  /** The demo graph, part by part. */
  | { readonly kind: "hybrid"; readonly device: string | null; readonly target: TargetSpec }
  | ({ readonly kind: "bench"; readonly repeats: number; readonly warmup: number } & Measured)
  | ({ readonly kind: "profile" } & Measured)
  | { readonly kind: "export"; readonly target: TargetSpec; readonly path: string }
  | { readonly kind: "quantize"; readonly recipe: string; readonly path: string }
  | { readonly kind: "doctor" };

/** Safe in a POSIX shell: single quotes unless every character is harmless. */
export function quote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const machineFlags = ({ chip, os, units, profile }: TargetSpec): readonly string[] => [
  ...["--chip", chip, "--os", os],
  ...["--units", units, "--profile", profile],
];

const targetFlags = (target: TargetSpec): readonly string[] => [
  ...machineFlags(target),
  "--context",
  String(target.context),
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

const askedFlags = (asked: Asked): readonly string[] => [
  ...flag("--device", asked.device),
  ...SAMPLING_NUMBERS.flatMap((name) => (isUsual(name, asked) ? [] : flag(`--${samplingFlag(name)}`, asked[name]))),
  ...flag("--seed", asked.seed),
  ...eachLine("--stop", asked.stop),
  ...eachLine("--logit-bias", asked.logitBias),
  ...formFlags(asked),
  ...flag("--max-tokens", asked.maxTokens),
  ...flag("--context", asked.context),
];

const measuredFlags = ({ device, promptTokens, generateTokens }: Measured): readonly string[] => [
  ...flag("--device", device),
  ...flag("--pp", promptTokens),
  ...flag("--tg", generateTokens),
];

const nameOf = ({ kind }: CommandLine): string => (kind === "export" ? "compile" : kind === "hybrid" ? "run" : kind);

/**
 * `argument`: the model on a command line, from the overview; null if the command line cannot reach
 * it.
 */
export function commandText(command: CommandLine, argument: string | null): string | null {
  if (command.kind === "doctor") return "rlx doctor";
  if (argument === null) return null;
  const rest = (): readonly string[] => {
    switch (command.kind) {
      case "inspect":
        return [];
      case "passes":
        return ["--backend", command.backend, "--phase", command.phase];
      case "graph":
        return [
          ...(command.stage === "mil" ? ["--mil"] : ["--backend", command.backend, ...flag("--stage", command.stage)]),
          ...["--phase", command.phase],
          ...targetFlags(command.target),
        ];
      case "hybrid":
        return [...flag("--device", command.device), ...machineFlags(command.target)];
      case "route":
        return ["--phase", command.phase, ...targetFlags(command.target)];
      case "chat":
        return [
          ...flag("--message", command.message),
          ...(command.system === undefined || command.system.trim() === "" ? [] : flag("--system", command.system)),
          ...(command.tools === undefined || command.tools.trim() === "" ? [] : flag("--tools", command.tools)),
          ...eachLine("--template-var", command.variables),
          ...askedFlags(command),
        ];
      case "run":
        return [...flag("--prompt", command.prompt), ...askedFlags(command)];
      case "bench":
        return [...measuredFlags(command), ...flag("--repeats", command.repeats), ...flag("--warmup", command.warmup)];
      case "profile":
        return measuredFlags(command);
      case "export":
        return [...targetFlags(command.target), "--output", quote(command.path)];
      case "quantize":
        return ["--to", command.recipe, "--output", quote(command.path)];
    }
  };
  return ["rlx", nameOf(command), argument, ...rest()].join(" ");
}
