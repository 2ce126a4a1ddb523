/** Options that several commands share, with their help texts. */
import { Option } from "commander";
import type { Command as Program } from "commander";
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

export const CHIP_OPTION = ["--chip <id>", "chip to predict for: m1, m2, m3, m4 or m5"] as const;

export const inPhase = (command: Program): Program =>
  withoutWeights(command).addOption(preset("--phase <name>", "decode or prefill", "decode"));

export const forTarget = (command: Program): Program => ofBothPhases(inPhase(command));

export const ofBothPhases = (command: Program): Program =>
  onTarget(command).option("--context <n>", "context length in tokens");

/** `only`: where the target counts for a part of the command. */
export const onTarget = (command: Program, only = ""): Program =>
  command
    .option(CHIP_OPTION[0], `${CHIP_OPTION[1]}${only}`)
    .option("--os <id>", `system to predict for: macos14, macos15 or macos26${only}`)
    .option("--units <id>", `compute units: cpu-ane, cpu-gpu, all or cpu${only}`)
    .option("--profile <id>", `form of the weights: auto, gpu (packed), ane (f16) or exact (f32)${only}`);

export const onDevice = (command: Program, devices: string): Program =>
  command.option("--threads <n>", "CPU threads; all without it").addOption(preset("--device <id>", devices, "cpu"));

export const sampling = (command: Program): Program =>
  onDevice(
    command
      .addOption(preset("-n, --max-tokens <n>", "most tokens to write", "512"))
      .addOption(preset("--temperature <t>", "0 always takes the likeliest", "0.7"))
      .addOption(preset("--top-k <n>", "choose among the k likeliest; 0 for no limit", "40"))
      .addOption(preset("--top-p <p>", "choose among the likeliest that make up this share", "0.95"))
      .addOption(preset("--min-p <p>", "leave out what has less than this share of the likeliest", "0"))
      .addOption(preset("--repeat-penalty <r>", "make what was written less likely; 1 for not at all", "1"))
      .option("--seed <n>", "the same seed gives the same text")
      .addOption(several("--stop <text>", "end at this text"))
      .option("--context <n>", "context length in tokens"),
    "cpu, mlx, coreml-sim or coreml",
  );

/** Conflicts with the sampling options, because the demo graph writes no text. */
export const DEMO_INSTEAD = new Option(
  "--demo",
  "run the demo graph instead: its segments on the Core ML simulator (with --device coreml on Core ML itself), the rest on the host",
).conflicts([
  "prompt",
  "promptFile",
  "maxTokens",
  "temperature",
  "topK",
  "topP",
  "minP",
  "repeatPenalty",
  "stop",
  "context",
  "threads",
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
