/** Options that several commands share, with their help texts. */
import { OPTION_WORDS } from "../../contract/views/common.ts";
import { Option } from "commander";
import type { Command as Program } from "commander";
import type { SamplingNumber } from "../../contract/views/run.ts";
import { SAMPLING_DEFAULTS, SAMPLING_NUMBERS, samplingFlag } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";

/** An option with a default, shown without quotation marks. */
export const preset = (flags: string, description: string, value: string): Option =>
  new Option(flags, description).default(value, value);

/** An option that may be given several times. Not a variadic one: that would swallow the file that follows. */
export const several = (flags: string, description: string): Option =>
  new Option(flags, `${description}; may be given several times`).argParser(
    (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
  );

/** An option that is refused the second time, instead of dropping one value in silence. */
export const once = (flags: string, description: string): Option => {
  const option = new Option(flags, description);
  return option.argParser((value: string, before: string | undefined) => {
    if (before === undefined) return value;
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] ${option.long ?? flags}: got two, expected one`, {
      hint: "Join them, or call once for each.",
    });
  });
};

/** `use`: what a model without data is good for. */
export const withHeaders = (command: Program, use: string): Program =>
  command
    .option("--header-only", `a 1B-class model without data: ${use}`)
    .option("--deep", `a header-only model of 400 blocks: ${use}`);

export const withoutWeights = (command: Program): Program =>
  withHeaders(command, "everything but running").option(
    "--demo",
    "a small graph with host segments (fft, lstm, a custom op)",
  );

export const CHIP_OPTION = ["--chip <id>", "chip to predict for: m1 to m5, or a variant such as m4-pro"] as const;

export const inPhase = (command: Program): Program =>
  withoutWeights(command).addOption(preset("--phase <name>", "decode or prefill", "decode"));

export const forTarget = (command: Program): Program => ofBothPhases(inPhase(command));

export const ofBothPhases = (command: Program): Program =>
  onTarget(command).option("--context <n>", "context length in tokens");

/** `only`: where the target counts for a part of the command. */
export const onTarget = (command: Program, only = ""): Program =>
  command
    .option(CHIP_OPTION[0], `${CHIP_OPTION[1]}${only}`)
    .option("--memory <GiB>", `memory of that machine; without it as it is sold, or as this Mac has it${only}`)
    .option("--os <id>", `system to predict for: macos14, macos15 or macos26${only}`)
    .option("--units <id>", `compute units: cpu-ane, cpu-gpu, all or cpu${only}`)
    .option(
      "--profile <id>",
      `form of the weights: auto, gpu (packed), ane (f16), exact (packed, computed in f32) or f32 (unpacked)${only}`,
    )
    .option("--options <list>", `ways to compile: ${OPTION_WORDS.map(({ name }) => name).join(", ")}${only}`);

export const onDevice = (command: Program, devices: string): Program =>
  command
    .option("--threads <n>", "CPU threads; all without it")
    .option("--try-unsafe", "with --device coreml: load a model once more that ended its helper here")
    .addOption(preset("--device <id>", devices, "cpu"));

const SAMPLING_HELP: Readonly<Record<SamplingNumber, string>> = {
  temperature: "0 always takes the likeliest",
  topK: "choose among the k likeliest; 0 for no limit",
  topP: "choose among the likeliest that make up this share",
  minP: "leave out what has less than this share of the likeliest",
  typicalP: "choose among those of the most usual surprise that make up this share; 1 for all",
  repeatPenalty: "make what was written less likely; 1 for not at all",
  repeatLast: "how many of the last tokens the three penalties look at",
  frequencyPenalty: "take this from a token's logit for each time that it was written",
  presencePenalty: "take this once from the logit of what was written",
  xtcProbability: "XTC: how often the likeliest are left out; 0 for never",
  xtcThreshold: "XTC: leave out all above this probability but the last of them",
  dryMultiplier: "DRY: how strongly repeated passages are avoided; 0 for not at all",
  dryBase: "DRY: how much more each further repeated token costs",
  dryAllowedLength: "DRY: repetitions up to this many tokens cost nothing",
  dryLast: "DRY: how many of the last tokens it looks at",
  mirostat: "1 or 2: Mirostat in place of top-k, typical, top-p, min-p and XTC; 0 for off",
  mirostatTau: "Mirostat: the surprise to aim at, in bits",
  mirostatEta: "Mirostat: how fast it corrects itself",
};

function withSamplingNumbers(command: Program): Program {
  for (const name of SAMPLING_NUMBERS) {
    const usual = name === "dryLast" ? "all" : String(SAMPLING_DEFAULTS[name]);
    command.option(`--${samplingFlag(name)} <n>`, `${SAMPLING_HELP[name]} (default: as the file says, or ${usual})`);
  }
  return command
    .addOption(several("--dry-breaker <text>", "DRY: a repetition ends at this text, instead of at the usual ones"))
    .addOption(
      several("--logit-bias <bias>", "token=number: add to the logit of a token, by its id or text; =ban for never"),
    )
    .addOption(once("--grammar <gbnf>", "the answer is a text of this grammar (GBNF, from its rule root)"))
    .addOption(once("--grammar-file <path>", "read the grammar from a file"))
    .addOption(once("--json-schema <json>", "the answer is JSON that this schema takes; {} for any JSON"))
    .addOption(once("--json-schema-file <path>", "read the schema from a file"));
}

/** For the commands that compute with the weights, or show the graph that does. */
export const adapters = (): Option =>
  several("--lora <file>", "apply a LoRA adapter (GGUF); file:0.5 applies half of it");

export const sampling = (command: Program): Program =>
  onDevice(
    withSamplingNumbers(command.addOption(preset("-n, --max-tokens <n>", "most tokens to write", "512")))
      .option("--seed <n>", "the same seed gives the same text")
      .addOption(several("--stop <text>", "end at this text"))
      .addOption(adapters())
      .addOption(precision())
      .addOption(cacheTypeOption())
      .option("--context <n>", "context length in tokens")
      .addOption(
        once(
          "--prompt-cache <file>",
          "begin with what this file holds of the prompt, and save the session there after",
        ),
      )
      .option("--prompt-cache-ro", "read the prompt cache, and leave it as it is"),
    "cpu, mlx, coreml-sim or coreml",
  );

/** For commands that compute on the CPU engine or MLX. */
export const precision = (): Option =>
  preset("--precision <policy>", "of cpu and mlx: f32, mixed (products in f16, sums and norms in f32) or f16", "f32");

/** For commands that keep keys and values; `only`: where that is. */
export const cacheTypeOption = (only = ""): Option =>
  once("--cache-type <type>", `${only}of keys and values: f16, f32, or on the CPU q8_0 or q4_0, which take less`);

/** What a chat template is told besides the messages; `only`: what that means for the command. */
export const told = (command: Program, only = ""): Program =>
  command
    .addOption(once("--tools <json>", `JSON list of the functions that the model may call, or a file with it${only}`))
    .addOption(
      once("--tool-choice <how>", "auto (default), none, required, or the tool to call; its arguments fit its schema"),
    )
    .addOption(
      once("--documents <json>", `JSON list of documents, or a file with it, for templates that take some${only}`),
    )
    .addOption(once("--template <name>", `one of the file's named chat templates${only}`))
    .addOption(
      several("--template-var <pair>", `a variable of the chat template, as name=value, the value JSON or text${only}`),
    );

/** Conflicts with the sampling options, because the demo graph writes no text. */
export const DEMO_INSTEAD = new Option(
  "--demo",
  "run the demo graph instead: its segments on the Core ML simulator (with --device coreml on Core ML itself), the rest on the host",
).conflicts([
  "prompt",
  "promptFile",
  "experts",
  ...["tools", "toolChoice", "documents", "template", "templateVar"],
  "maxTokens",
  ...SAMPLING_NUMBERS,
  "dryBreaker",
  "logitBias",
  "grammar",
  "grammarFile",
  "jsonSchema",
  "jsonSchemaFile",
  "stop",
  "context",
  "promptCache",
  "promptCacheRo",
  "threads",
  "precision",
  "cacheType",
]);

/** Options for the backend of a pipeline and its precision. */
export const ofBackend = (command: Program): Program =>
  command
    .option("--backend <id>", "backend of the graphs: coreml (default), cpu or mlx")
    .addOption(
      preset("--precision <policy>", "of the CPU: f32, mixed (products in f16, sums and norms in f32) or f16", "f32"),
    );

export const withText = (command: Program): Program =>
  command
    .addOption(once("--text <text>", "the text"))
    .addOption(once("--text-file <path>", "read it from a file; - for standard input"))
    .option("--no-special", "leave out what the file's rules would add");
