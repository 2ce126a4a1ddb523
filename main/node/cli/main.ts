/**
 * `rlx`: the command line over the same engine as the window. This file knows names and options; each command's work is loaded
 * when it is called, so that help costs nothing.
 */
import { Command as Program, CommanderError } from "commander";
import { toWireError } from "../../diagnostics/errors.ts";
import type { Command, ModelChoice, TargetOptions } from "./client.ts";
import { createOutput, errorText, exitCode } from "./output.ts";
import { VERSION } from "../version.ts";

export interface CommonOptions extends TargetOptions {
  readonly json?: boolean;
  readonly sample?: boolean;
  readonly headerOnly?: boolean;
  readonly deep?: boolean;
  readonly demo?: boolean;
  readonly phase?: "prefill" | "decode";
}

type Work<O> = (command: Command, model: ModelChoice, options: O) => Promise<number | undefined>;

const interrupted = new AbortController();

/** Runs a command's work; errors end as one message and an exit code. */
function run<O extends CommonOptions>(
  load: () => Promise<Work<O>>,
): (file: string | undefined, options: O) => Promise<void> {
  return async (file, options) => {
    const output = createOutput(options.json === true);
    try {
      const [{ connect }, work] = await Promise.all([import("./client.ts"), load()]);
      const command = connect(output, interrupted.signal);
      try {
        process.exitCode = (await work(command, { file, offer: offerOf(options) }, options)) ?? 0;
      } finally {
        await command.engine.dispose();
      }
    } catch (error) {
      const wire = toWireError(error);
      output.endProgress();
      if (output.json) output.value({ error: wire });
      else process.stderr.write(`${errorText(wire)}\n`);
      if (wire.code === "BUG_UNEXPECTED" && error instanceof Error && process.env["RLX_VERBOSE"] === "1")
        process.stderr.write(`${error.stack ?? ""}\n`);
      process.exitCode = exitCode(wire);
    }
  };
}

function offerOf(options: CommonOptions): string | undefined {
  if (options.sample === true) return "sample";
  if (options.headerOnly === true) return "header-only-1b";
  if (options.deep === true) return "header-only-400";
  return options.demo === true ? "demo-hybrid" : undefined;
}

const program = new Program("rlx")
  .description("See, compile, route, run, measure and export language models for Apple silicon.")
  .version(VERSION)
  .showHelpAfterError("(rlx --help shows every command)")
  .exitOverride();

function add(name: string, summary: string, argument = "[file]"): Program {
  return program
    .command(name)
    .description(summary)
    .argument(argument, "a .gguf file (any part of a split one)")
    .option("--sample", "the model that comes with the workbench")
    .option("--json", "one JSON value on stdout, nothing else");
}

const withoutWeights = (command: Program): Program =>
  command
    .option("--header-only", "a 1B-class model without data: everything but running")
    .option("--deep", "a header-only model of 400 blocks")
    .option("--demo", "a small graph with host segments (fft, lstm, a custom op)");

const forTarget = (command: Program): Program =>
  withoutWeights(command)
    .option("--chip <id>", "chip to predict for (m1 … m5, with -pro, -max)")
    .option("--os <id>", "macOS to predict for")
    .option("--units <id>", "compute units: cpu-ane, cpu-gpu, all, cpu")
    .option("--profile <id>", "weight profile: auto, gpu, ane, exact")
    .option("--context <n>", "context length")
    .option("--phase <name>", "decode or prefill", "decode");

const sampling = (command: Program): Program =>
  command
    .option("-n, --max-tokens <n>", "most tokens to write", "512")
    .option("--temperature <t>", "0: always the likeliest", "0.7")
    .option("--top-k <n>", "0: no limit", "40")
    .option("--top-p <p>", "nucleus", "0.95")
    .option("--min-p <p>", "least share of the likeliest", "0")
    .option("--repeat-penalty <r>", "1: none", "1")
    .option("--seed <n>", "the same seed gives the same text")
    .option("--stop <text...>", "end at this text")
    .option("--context <n>", "context length")
    .option("--threads <n>", "CPU threads")
    .option("--device <id>", "cpu or coreml-sim", "cpu");

withoutWeights(add("inspect", "what is inside: architecture, sizes, quantisation, keys, tensors, will it fit"))
  .option("--metadata [query]", "list the keys")
  .option("--key <name>", "the whole value of one key")
  .option("--tensors [query]", "list the tensors")
  .option("--context <n>", "context length for the forecast")
  .option("--chip <id>", "chip for the forecast")
  .action(run(async () => (await import("./inspect.ts")).inspect));

forTarget(add("graph", "the IR as text, or its columns with --json"))
  .option("--stage <name>", "initial, legal, or the number of passes applied", "legal")
  .action(run(async () => (await import("./graph.ts")).graph));

forTarget(add("passes", "what each pass did, hits and misses and why")).action(
  run(async () => (await import("./graph.ts")).passes),
);

forTarget(add("route", "which op runs on the Neural Engine, GPU or CPU, and why (predicted)"))
  .option("--expect <rule>", "exit 1 unless the share holds, e.g. ane>=0.9")
  .option("--ops", "every op with its device and reason")
  .action(run(async () => (await import("./route.ts")).route));

forTarget(add("segments", "where the program is cut, and the bytes that cross")).action(
  run(async () => (await import("./route.ts")).segments),
);

forTarget(add("compile", "write the .mlpackage of this model"))
  .option("-o, --output <path>", "where to write it")
  .option("--overwrite", "replace what is there")
  .option("--dry-run", "say what would be written")
  .action(run(async () => (await import("./compile.ts")).compile));

sampling(add("run", "complete a prompt"))
  .option("-p, --prompt <text>", "the text to continue")
  .option("--prompt-file <path>", "read it from a file")
  .action(run(async () => (await import("./run.ts")).complete));

sampling(add("chat", "talk with the model"))
  .option("-m, --message <text...>", "say this and end; without it, a conversation")
  .option("--system <text>", "the system message")
  .action(run(async () => (await import("./run.ts")).chat));

add("score", "log-probability of each token of a text, and its perplexity")
  .option("--text <text>", "the text")
  .option("--text-file <path>", "read it from a file")
  .option("--ids <list>", "token ids, separated by commas")
  .option("--no-special", "leave out what the file's rules would add")
  .option("--threads <n>", "CPU threads")
  .option("--cache <type>", "f16 or f32", "f16")
  .option("--chunk <n>", "tokens handled at once", "512")
  .action(run(async () => (await import("./score.ts")).score));

add("tokenize", "the tokens of a text")
  .option("--text <text>", "the text")
  .option("--text-file <path>", "read it from a file")
  .option("--no-special", "leave out what the file's rules would add")
  .action(run(async () => (await import("./score.ts")).tokenize));

add("bench", "prompt processing and generation, in llama-bench's JSON")
  .option("--pp <n>", "prompt tokens", "512")
  .option("--tg <n>", "generated tokens", "128")
  .option("-r, --repeats <n>", "repeats", "5")
  .option("--warmup <n>", "runs not counted", "1")
  .option("--threads <n>", "CPU threads")
  .option("--device <id>", "cpu or coreml-sim", "cpu")
  .action(run(async () => (await import("./bench.ts")).bench));

add("profile", "where the time goes: by op, with achieved bandwidth")
  .option("--pp <n>", "prompt tokens", "64")
  .option("--tg <n>", "generated tokens", "16")
  .option("--threads <n>", "CPU threads")
  .option("--device <id>", "cpu or coreml-sim", "cpu")
  .option("--trace <path>", "write a Chrome trace")
  .action(run(async () => (await import("./bench.ts")).profile));

program
  .command("doctor")
  .description("check this machine: addon, devices, memory, simulator")
  .option("--json", "one JSON value on stdout, nothing else")
  .action((options: CommonOptions) => run(async () => (await import("./doctor.ts")).doctor)(undefined, options));

program
  .command("serve")
  .description("the workbench in a browser, on loopback only")
  .argument("[file]", "a .gguf file to open")
  .option("--port <n>", "port; a free one without it", "0")
  .option("--open", "open the browser")
  .option("--json", "print address and token as JSON")
  .action(
    async (
      file: string | undefined,
      options: { readonly port: string; readonly open?: boolean; readonly json?: boolean },
    ) => {
      try {
        await (await import("./serve.ts")).serveCommand(file, options);
      } catch (error) {
        const wire = toWireError(error);
        process.stderr.write(`${errorText(wire)}\n`);
        process.exitCode = exitCode(wire);
      }
    },
  );

process.on("SIGINT", () => {
  if (interrupted.signal.aborted) process.exit(130);
  interrupted.abort();
});

program.parseAsync(process.argv).catch((error: unknown) => {
  // Help and version end with 0, a wrong command line with 2; commander has printed the message already.
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : 1;
  if (!(error instanceof CommanderError)) process.stderr.write(`${errorText(toWireError(error))}\n`);
});
