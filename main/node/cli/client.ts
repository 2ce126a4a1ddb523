/** The engine in the command's own process, over the same contract that the window uses. */
import type { EngineClient } from "../../contract/contract.ts";
import { contract } from "../../contract/contract.ts";
import { createClient } from "../../contract/client.ts";
import { createPortPair } from "../../contract/port.ts";
import { LARGEST_CONTEXT } from "../../contract/views/common.ts";
import { OPTION_WORDS, targetOptions } from "../../contract/views/common.ts";
import type { TargetOptions as Levers, TargetSpec } from "../../contract/views/common.ts";
import type { Capability, DeviceInfo } from "../../contract/views/engine.ts";
import { DEFAULT_DEVICE, DEMO_OFFER } from "../../contract/views/engine.ts";
import type { AdapterSource, Overview } from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { nodeEngine } from "../nodeEngine.ts";
import type { Settings } from "../settings.ts";
import type { Output } from "./output.ts";
import type { Streams } from "./surroundings.ts";

/** What every command gets. */
export interface Command {
  /** As the environment has them. */
  readonly settings: Settings;
  /** Ends the engine of this process. */
  readonly dispose: () => Promise<void>;
  readonly client: EngineClient;
  readonly output: Output;
  readonly streams: Streams;
  /** Fires on the first ^C, SIGTERM or SIGHUP, and when the reader leaves. A second ^C ends the process. */
  readonly signal: AbortSignal;
}

export function connect(given: Pick<Command, "settings" | "output" | "streams" | "signal">): Command {
  const { settings, streams } = given;
  const engine = nodeEngine({ settings, log: (line) => void streams.stderr.write(`${line}\n`) });
  const [near, far] = createPortPair();
  engine.connect(far);
  return { ...given, dispose: () => engine.dispose(), client: createClient(contract, near) };
}

/** Runs the work; with consent, again for each Core ML model that is marked as unsafe: each is tried once more. */
export async function withConsent<T>(
  { client, signal }: Command,
  { tryUnsafe = false }: CommonOptions,
  work: () => Promise<T>,
): Promise<T> {
  const allowed = new Set<string>();
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!tryUnsafe || !(error instanceof WorkbenchError) || error.code !== "COREML_UNSAFE") throw error;
      const verdict = error.details?.["verdict"];
      if (typeof verdict !== "string" || allowed.has(verdict)) throw error;
      allowed.add(verdict);
      await client.call("compiles.allow", { verdict }, { signal });
    }
}

/** The error of a stream without its last item: cancelled, or a bug. */
export function unfinished(signal: AbortSignal): WorkbenchError {
  return signal.aborted
    ? new WorkbenchError("CANCELLED", "Cancelled.")
    : new WorkbenchError("BUG_INVARIANT", "[rlx] the stream ended without its last item");
}

/** The model on a command line: a path, `--sample`, `--header-only` or `--demo`. */
export interface ModelChoice {
  readonly file: string | undefined;
  readonly offer: string | undefined;
  readonly adapters?: readonly AdapterSource[];
}

const OFFERS = [
  { option: "sample", flag: "--sample", id: "sample" },
  { option: "headerOnly", flag: "--header-only", id: "header-only-1b" },
  { option: "deep", flag: "--deep", id: "header-only-400" },
  { option: "demo", flag: "--demo", id: DEMO_OFFER },
] as const;

/** Refuses two flags that answer the same question. `given`: flags and their values. */
export function oneOf(what: string, given: Readonly<Record<string, unknown>>): void {
  const named = Object.keys(given).filter((flag) => given[flag] !== undefined && given[flag] !== false);
  if (named.length > 1)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] ${what}: got ${named.join(" and ")}, expected one`);
}

/** The model of a command line: a file or an offer of the workbench, not both. */
export function choiceOf(file: string | undefined, options: CommonOptions): ModelChoice {
  const offers = OFFERS.filter(({ option }) => options[option] === true);
  const named = [...(file === undefined ? [] : [file]), ...offers.map(({ flag }) => flag)];
  oneOf("the model", Object.fromEntries(named.map((name) => [name, true])));
  return { file, offer: offers[0]?.id, adapters: (options.lora ?? []).map(adapterOf) };
}

/** A path, and behind a colon how much of the adapter is applied. */
function adapterOf(text: string): AdapterSource {
  const [, path = "", scale] = /^(.*?)(?::([+-]?(?:\d+\.?\d*|\.\d+)))?$/u.exec(text) ?? [];
  if (path !== "") return { path, scale: scale === undefined ? 1 : Number(scale) };
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --lora: got ${shown(text)}, expected a file, or file:scale`);
}

export async function openModel(command: Command, choice: ModelChoice, fallback?: string): Promise<Overview> {
  const offer = choice.offer ?? (choice.file === undefined ? fallback : undefined);
  const adapters = [...(choice.adapters ?? [])];
  const { signal } = command;
  if (offer !== undefined)
    return command.client.call("model.open", { source: { kind: "offer", id: offer }, adapters }, { signal });
  if (choice.file === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no model: expected a .gguf file", {
      hint: "Give a file, or --sample for the model that comes with the workbench.",
    });
  requireName(choice.file);
  return command.client.call("model.open", { source: { kind: "path", path: choice.file }, adapters }, { signal });
}

/** Refuses an empty word, which an unset shell variable leaves. */
export function requireName(file: string): void {
  if (file !== "") return;
  throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no file named: got nothing, expected a .gguf file", {
    hint: "Give a file, or --sample for the model that comes with the workbench.",
  });
}

export interface TargetOptions {
  readonly chip?: string;
  readonly memory?: string;
  readonly os?: string;
  readonly units?: string;
  readonly profile?: string;
  readonly context?: string;
  /** Levers: "split-rows,islands". */
  readonly options?: string;
}

/** Options that many commands know. */
export interface CommonOptions extends TargetOptions {
  readonly json?: boolean;
  readonly sample?: boolean;
  readonly headerOnly?: boolean;
  readonly deep?: boolean;
  readonly demo?: boolean;
  readonly phase?: "prefill" | "decode";
  /** Consent to load what ended its helper. */
  readonly tryUnsafe?: boolean;
  /** Adapters: a file, or file:scale. */
  readonly lora?: readonly string[];
}

/** The target of the options. Missing fields come from the engine's initial target. */
export async function targetOf(command: Command, options: TargetOptions): Promise<TargetSpec> {
  const list = await command.client.call("targets.list", {}, { signal: command.signal });
  const pick = <T extends string>(
    name: string,
    value: string | undefined,
    choices: readonly { readonly id: string }[],
    initial: T,
  ): T => {
    if (value === undefined) return initial;
    const found = choices.find((choice) => choice.id === value.toLowerCase());
    if (!found)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[rlx] --${name}: got ${shown(value)}, expected one of ${choices.map((c) => c.id).join(", ")}`,
      );
    return found.id as T;
  };
  return {
    chip: pick("chip", options.chip, list.chips, list.initial.chip),
    os: pick("os", options.os, list.oses, list.initial.os),
    units: pick("units", options.units, list.units, list.initial.units),
    profile: pick("profile", options.profile, list.profiles, list.initial.profile),
    context:
      options.context === undefined
        ? list.initial.context
        : wholeNumber("context", options.context, 1, LARGEST_CONTEXT),
    ...(options.memory === undefined ? {} : { memoryGiB: wholeNumber("memory", options.memory, 1, 4096) }),
    ...(options.options === undefined ? {} : { options: targetOptionsOf(options.options) }),
  };
}

/** What is on, by the words of `--options`. */
function targetOptionsOf(text: string): Levers {
  let made = targetOptions.parse({});
  for (const word of text.split(",").map((part) => part.trim().toLowerCase())) {
    const found = OPTION_WORDS.find(({ name }) => name === word);
    if (found === undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[rlx] --options: got ${shown(word)}, expected a list of ${OPTION_WORDS.map(({ name }) => name).join(", ")}`,
      );
    made = { ...made, ...found.options };
  }
  return made;
}

/** A model with the phase and target of a question. */
export async function openForTarget(
  command: Command,
  choice: ModelChoice,
  options: TargetOptions,
): Promise<Pick<Overview, "model" | "canGraph" | "canExport"> & { readonly target: TargetSpec }> {
  const { model, context, canGraph, canExport } = await openModel(command, choice);
  const target = await targetOf(command, options);
  noteContext(command, context.trained, options);
  return { model, target, canGraph, canExport };
}

/** Says so where a model's context is smaller than the requested one. */
export function noteContext({ output }: Command, trained: number | null, { context }: TargetOptions): void {
  if (context !== undefined && trained !== null && Number(context) > trained)
    output.note(`--context ${context}: the most that this model knows is ${trained}, and that is taken.`);
}

const shown = (text: string): string => (text === "" ? "nothing" : text);

/** Digits only: `Number` would also accept "", "0x10" and "1e3". */
export function wholeNumber(name: string, text: string, low: number, high = Number.MAX_SAFE_INTEGER): number {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(value) && value >= low && value <= high) return value;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --${name}: got ${shown(text)}, expected a whole number from ${low}${high === Number.MAX_SAFE_INTEGER ? "" : ` to ${high}`}`,
  );
}

export function decimal(name: string, text: string, low: number, high: number): number {
  const value = /^-?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
  if (value >= low && value <= high) return value;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --${name}: got ${shown(text)}, expected a number from ${low} to ${high}`,
  );
}

/** The devices that the engine has. */
export const devicesOf = async ({ client }: Pick<Command, "client">): Promise<readonly DeviceInfo[]> =>
  (await client.call("engine.info", {})).devices;

/** "cpu, mlx or coreml" */
export const orList = (names: readonly string[]): string =>
  [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" or ");

/** The id of a device with this capability. `what` names the caller in the error. */
export async function deviceOption(
  command: Pick<Command, "client">,
  text: string,
  capability: Capability = "tokens",
  what = "--device",
): Promise<string> {
  if (text === DEFAULT_DEVICE && capability === "tokens") return text;
  const devices = await devicesOf(command);
  const able = devices.filter(({ capabilities }) => capabilities[capability] === true).map(({ id }) => id);
  if (able.includes(text)) return text;
  const why = devices.find(({ id }) => id === text)?.capabilities[capability];
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] ${what}: got ${shown(text)}, expected ${orList(able)}`, {
    ...(typeof why === "string" ? { hint: why } : {}),
  });
}

/** The errors of a measurement with this command line's ways out: devices that can measure, and past a machine that is not quiet. */
export async function* namingDevices<T>(
  command: Command,
  items: AsyncIterable<T>,
  asked: readonly string[],
): AsyncGenerator<T, void> {
  try {
    yield* items;
  } catch (error) {
    if (error instanceof WorkbenchError && error.code === "ENV_NOT_QUIET") {
      const hint =
        "Wait, or close what disturbs it. To measure anyway, with a marked result: --warn, or RLX_ALLOW_THROTTLE=1.";
      throw new WorkbenchError(error.code, error.message, { hint, cause: error });
    }
    if (!(error instanceof WorkbenchError) || error.code !== "ENV_NO_DEVICE") throw error;
    const others = (await devicesOf(command)).filter(
      ({ id, capabilities: { measure } }) => measure === true && !asked.includes(id),
    );
    const hint = `Measure on ${orList(others.map(({ id }) => id))}.`;
    throw new WorkbenchError(error.code, error.message, { hint, cause: error });
  }
}
