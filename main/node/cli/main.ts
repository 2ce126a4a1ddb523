/**
 * `rlx`: the command line over the same engine as the window. This file holds the name, options and
 * examples of each command. A command's own file is loaded when it runs, so help starts fast. Over 500 lines,
 * because each command is an entry here and nothing else is. entry.ts runs it as a process.
 */
import { CommanderError, Command as Program } from "commander";
import { openedModelsText } from "../../diagnostics/opens.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { VERSION } from "../../contract/version.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import type { BenchOptions } from "./bench.ts";
import type { DiffOptions } from "./diff.ts";
import type { EvalOptions } from "./graphRuns.ts";
import type { DeriveOptions, FormatOptions } from "./graphText.ts";
import type { OpsOptions } from "./ops.ts";
import type { SessionOptions } from "./session.ts";
import { fail } from "./ending.ts";
import {
  adapters,
  cacheTypeOption,
  precision,
  CHIP_OPTION,
  DEMO_INSTEAD,
  forTarget,
  ofBackend,
  ofBothPhases,
  onTarget,
  onDevice,
  once,
  preset,
  sampling,
  several,
  told,
  withHeaders,
  withoutWeights,
  withText,
} from "./options.ts";
import type { Job, Work } from "./perform.ts";
import { commandJob, serveJob, showsStack } from "./perform.ts";
import type { ServeCommandOptions } from "./serve.ts";
import type { OutStream, Streams, Surroundings } from "./surroundings.ts";

/**
 * What the words that are being parsed ask for, and what the parser says of them. The parser is one for all command lines,
 * and may be: it works without a pause, and begins anew with each.
 */
const parsing: { job?: Job | undefined; out: string; err: string; streams?: Streams } = { out: "", err: "" };

/** Columns for help. */
const widthOf = (stream: OutStream | undefined): number => (stream?.isTTY === true ? (stream.columns ?? 80) : 80);

/** Leaves the work of a command to be run once the words are parsed. */
const run =
  <O extends CommonOptions>(load: () => Promise<Work<O>>) =>
  (file: string | undefined, options: O, program: Program): void => {
    parsing.job = commandJob(program.name(), load, file, options);
  };

const program = new Program("rlx")
  .description("See, compile, route, run, measure and export language models for Apple silicon.")
  .version(VERSION)
  .configureOutput({
    // `misuse` below prints errors of the parser in our own form.
    outputError: () => undefined,
    writeOut: (text) => (parsing.out += text),
    writeErr: (text) => (parsing.err += text),
    getOutHelpWidth: () => widthOf(parsing.streams?.stdout),
    getErrHelpWidth: () => widthOf(parsing.streams?.stderr),
  })
  .addHelpText("after", examples(["rlx chat", "rlx inspect model.gguf", "rlx route --demo", "rlx serve --open"]))
  .addHelpText(
    "after",
    "\nExit codes: 0 success, 1 failure, 2 wrong usage, 130 Ctrl+C, 143 SIGTERM (serve: 0), 129 SIGHUP",
  )
  .exitOverride();

function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}

const MODEL_FILE = openedModelsText();

const OR_SAMPLE = `${MODEL_FILE}; without one, the model that comes with the workbench`;

const JSON_OPTION = ["--json", "one JSON value on stdout, nothing else"] as const;

function add(name: string, summary: string, ...shown: readonly string[]): Program {
  return addFor(MODEL_FILE, name, summary, ...shown);
}

/** `file` describes the argument: what it is, and the model without one. */
function addFor(file: string, name: string, summary: string, ...shown: readonly string[]): Program {
  return program
    .command(name)
    .description(summary)
    .argument("[file]", file)
    .option("--sample", "the model that comes with the workbench")
    .option(...JSON_OPTION)
    .addHelpText("after", examples(shown));
}

withoutWeights(
  add(
    "inspect",
    "what is inside: architecture, sizes, quantisation, keys, tensors, will it fit",
    "rlx inspect model.gguf",
    "rlx inspect model.gguf --tensors attn_q",
    "rlx inspect model.gguf --key tokenizer.chat_template",
  ),
)
  .option("--metadata [query]", "list the keys (that hold the query)")
  .option("--key <name>", "the whole value of one key")
  .option("--tensors [query]", "list the tensors (that hold the query)")
  .option("--context <n>", "context length for the forecast")
  .addOption(cacheTypeOption("for the forecast: "))
  .option(...CHIP_OPTION)
  .action(run(async () => (await import("./inspect.ts")).inspect));

forTarget(
  add(
    "tensors",
    "the tensors and the numbers in them: groups, statistics, values, what a device holds, the error against another file",
    "rlx tensors model.gguf --group layer",
    "rlx tensors model.gguf --stats",
    "rlx tensors model.gguf --tensor blk.0.attn_q.weight",
    "rlx tensors model.gguf --tensor blk.0.ffn_down_exps.weight --values 0:128 --expert 3",
    "rlx tensors q4.gguf --against f16.gguf",
    "rlx tensors model.gguf --for coreml --units cpu-ane --group form",
  ),
)
  .option("--tensor <name>", "this tensor, or those whose names or types hold this")
  .option("--stats", "statistics of each tensor instead of the list")
  .option("--values <corner>", "a page of values from row:column on; needs --tensor")
  .option("--expert <n>", "the expert whose values are shown; 0 without it")
  .option("--against <path>", "another file of the same model, or its folder: how far each tensor is from its")
  .option("--group <by>", "sums of groups instead of the list: layer, role, type, or form with --for")
  .option("--for <runtime>", "how each tensor is held on the device: cpu, mlx, or coreml with its target")
  .action(run(async () => (await import("./tensors.ts")).tensors));

add(
  "check",
  "is this file broken? Reads every tensor; names tensor, row and expert; exits with 1 if it is",
  "rlx check model.gguf",
  "rlx check q4.gguf --against f16.gguf --json",
  "rlx check graph.rlx",
)
  .option("--against <path>", "the file that it was made from: also finds rows that were replaced")
  .action(run(async () => (await import("./check.ts")).check));

ofBackend(
  forTarget(
    add(
      "graph",
      "the IR as text, or its columns with --json",
      "rlx graph model.gguf --stage built | less",
      "rlx graph model.gguf --backend cpu",
      "rlx graph model.gguf --mil --phase prefill --units all",
    ),
  ),
)
  .addOption(preset("--stage <name>", "built, the name of a pass, or legal", "legal"))
  .option("--mil", "the MIL program that Core ML is given instead, for this phase and target")
  .option("--plan", "with --backend cpu or mlx: the instructions or calls that the graph becomes")
  .option("--find <text>", "only the lines of that program that have this text, with their numbers")
  .option("--node-data <file>", "write a number for each op as JSON, for the window's graph and for Model Explorer")
  .option("--svg <file>", "write the picture of the graph that the window saves, blocks in stacks")
  .option("--theme <name>", "of --svg: light or dark (default: light)")
  .option("--expand", "of --svg: with every group open")
  .option(
    "--by <quantity>",
    "of --node-data: time, bytes or flops (default: time); of --svg also device, segment, type",
  )
  .addOption(adapters())
  .action(run(async () => (await import("./graph.ts")).graph));

ofBackend(
  forTarget(
    add(
      "passes",
      "what each pass of a backend did, hits and misses and why",
      "rlx passes model.gguf",
      "rlx passes model.gguf --backend cpu --precision mixed",
      "rlx passes model.gguf --bisect ane",
    ),
  ),
)
  .option(
    "--steps",
    "each step to what the runtime is given, with its changes in ops, hops, ANE share, time (always in --json)",
  )
  .option("--bisect <what>", "the step after which ane, hops, seconds, ops or the device of op:ID got worse")
  .action(run(async () => (await import("./graph.ts")).passes));

ofBackend(
  forTarget(
    add(
      "bisect",
      "which pass changed the result of a graph, or lost the routing of a model",
      "rlx bisect graph.rlx --input x=1,2,3",
      "rlx bisect graph.rlx --precision f16 --tolerance 1e-3",
      "rlx bisect model.gguf --watch hops",
    ),
  ),
)
  .option("--watch <what>", "of a model: ane, hops, seconds, ops or the device of op:ID (default: ane, or ops)")
  .option("--device <id>", "of a graph in text: where it runs (default: cpu)")
  .addOption(several("--input <numbers>", "of a graph in text: x=1,2,3 row by row, or x=file.npy"))
  .addOption(several("--symbol <size>", "N=8: a size that no input tells; 4 without it"))
  .option("--seed <n>", "of the inputs that are drawn")
  .option("--tolerance <part>", "of the largest number: what a result may move by (default: 1e-5)")
  .action(run(async () => (await import("./bisect.ts")).bisect));

forTarget(
  add(
    "route",
    "which op runs on the Neural Engine, GPU or CPU, and why (predicted)",
    "rlx route model.gguf --chip m5 --ops",
    'rlx route model.gguf --expect "ane>=0.7"',
    "rlx route model.gguf --mlx",
  ),
)
  .option("--expect <rule>", "exit with 1 unless the share of the work holds, e.g. ane>=0.9")
  .option("--backend <name>", "coreml (default), or cpu or mlx, which run all of it on one device")
  .option("--ops", "every op with its device and reason")
  .option("--planned", "compare with Core ML's plan on this Mac, differences first")
  .option("--mlx", "show MLX support for each op, its weight formats and step time")
  .addOption(adapters())
  .action(run(async () => (await import("./route.ts")).route));

forTarget(
  add(
    "assert-residency",
    "exit with 1 unless Core ML plans enough of a model on the Neural Engine of this Mac",
    "rlx assert-residency model.gguf --min-ane 0.9",
  ),
)
  .addOption(preset("--min-ane <share>", "least share of the plan's cost", "0.9"))
  .action(run(async () => (await import("./planned.ts")).assertResidency));

forTarget(add("segments", "where the program is cut, and the bytes that cross", "rlx segments --demo")).action(
  run(async () => (await import("./route.ts")).segments),
);

forTarget(
  add(
    "advise",
    "what would make a model faster on a target, and what it would gain (predicted)",
    "rlx advise model.gguf --units cpu-ane",
    "rlx advise model.gguf --backend cpu --measure threads",
  ),
)
  .option("--backend <id>", "what it runs on: coreml, mlx or cpu (default: coreml)")
  .option("--measure <rule>", "measure an advice of the list on this machine, before and after in turns")
  .option("--pairs <n>", "pairs of a measurement (default: 8)")
  .addOption(precision())
  .option("--warn", "measure although the machine is hot, on battery or busy; there is no verdict then")
  .action(run(async () => (await import("./advise.ts")).advise));

forTarget(
  addFor(
    `A: ${MODEL_FILE}`,
    "diff",
    "two files, or one on two targets: what differs, in words, routing, predicted time, graph, tensors and keys",
    "rlx diff q4.gguf q8.gguf",
    "rlx diff model.gguf --units cpu-ane --b-units all",
    "rlx diff model.gguf --backend cpu --b-backend mlx --html diff.html",
  ).argument("[other]", "B: another file; A's own without it, on another target"),
)
  .option("--backend <name>", "what it runs on: coreml (default), cpu or mlx")
  .option("--b-backend <name>", "what B runs on, where it is not what A does")
  .option("--b-chip <id>", "chip of B")
  .option("--b-units <id>", "compute units of B")
  .option("--b-profile <id>", "form of the weights of B")
  .option("--b-context <n>", "context length of B")
  .option("--b-options <list>", "ways to compile B")
  .option("--bench", "measure both in turn on this machine, too")
  .option("--warn", "with --bench: in a machine that is not quiet, too; the result is marked")
  .option("--all", "every row of the lists")
  .option("--html <path>", "write it as one page of HTML, too")
  .option("--svg <path>", "draw both graphs as one: + added, − removed, ~ changed")
  .option("--overwrite", "with --html: replace what is there")
  .action((file: string | undefined, other: string | undefined, options: DiffOptions, command: Program) =>
    run(async () => {
      const { diff } = await import("./diff.ts");
      return (of: Command, model: ModelChoice, given: DiffOptions) => diff(of, model, other, given);
    })(file, options, command),
  );

forTarget(
  add(
    "report",
    "what is seen of a model as one page of HTML: verdict, route, advice, benchmarks, identity",
    "rlx report model.gguf -o model.html",
    "rlx report model.gguf --backend cpu --markdown",
  ),
)
  .option("--backend <name>", "what it runs on: coreml (default), cpu or mlx")
  .option("-o, --output <path>", "where to write it; here, by the model's name, without it")
  .option("--overwrite", "replace what is there")
  .option("--markdown", "print its head for a bug tracker instead")
  .option("--notes <text>", "a text of your own at its end")
  .addOption(preset("--benches <n>", "newest benchmarks of this model that are in it", "3"))
  .option("--paths", "whole paths instead of names of files")
  .action(run(async () => (await import("./report.ts")).report));

// A package holds both phases.
ofBothPhases(
  withHeaders(
    add(
      "compile",
      "write the .mlpackage of this model",
      "rlx compile model.gguf -o model.mlpackage",
      "rlx compile model.gguf --units cpu-gpu --dry-run",
    ),
    "for --dry-run only",
  ),
)
  .alias("export")
  .option("-o, --output <path>", "where to write it; beside the file without it")
  .option("--overwrite", "replace what is there")
  .option("--dry-run", "say what would be written")
  .addOption(several("--symbol <size>", "of a graph in text: N=8; the context, or its limit, without it"))
  .addOption(adapters())
  .action(run(async () => (await import("./compile.ts")).compile));

add(
  "convert",
  "write a model as a GGUF: from Hugging Face's files or from another form of GGUF, in another type, split or merged",
  "rlx convert ./Qwen3-0.6B -o qwen3-0.6b.gguf",
  "rlx convert model.gguf --type q8_0 --dry-run",
  "rlx convert model-00001-of-00003.gguf -o whole.gguf",
  "rlx convert model.gguf --split-max-size 2G -o parts.gguf",
)
  .option("--type <type>", "type of the matrices: f32, f16, bf16 or q8_0; what they have without it")
  .option("-o, --output <path>", "where to write it; beside the file without it")
  .option("--overwrite", "replace what is there")
  .option("--split-max-size <size>", "most bytes of tensors in a file, as 500M or 2G")
  .option("--split-max-tensors <n>", "most tensors in a file")
  .option("--dry-run", "say what would be written")
  .action(run(async () => (await import("./convert.ts")).convert));

add(
  "quantize",
  "write this model in smaller types, and say what each weight loses",
  "rlx quantize model-f16.gguf --to q4_k_m",
  "rlx quantize model.gguf --to q4_k_m --tensor-type '*ffn_down*=q6_k' -o mine.gguf",
  "rlx quantize model.gguf --to iq4_xs --imatrix imatrix.gguf --dry-run",
)
  .requiredOption("--to <recipe>", "q4_k_m, q8_0, iq4_xs, f16 …: a wrong one names them all")
  .option("-o, --output <path>", "where to write it; beside the file without it")
  .option("--overwrite", "replace what is there")
  .addOption(several("--tensor-type <rule>", "pattern=type: another type where a name matches; * stands for anything"))
  .option("--output-type <type>", "type of the output matrix")
  .option("--embedding-type <type>", "type of the token embedding")
  .option("--pure", "the recipe's own type for every weight")
  .option("--imatrix <path>", "importance matrix: a GGUF, or a file of older llama.cpp")
  .option("--dry-run", "say the size and measure the errors, write nothing")
  .action(run(async () => (await import("./quantize.ts")).quantize));

add(
  "imatrix",
  "gather an importance matrix over a text: what rlx quantize --imatrix reads",
  "rlx imatrix model-f16.gguf --text-file wiki.txt -o imatrix.gguf",
  "rlx imatrix model-f16.gguf --text-file wiki.txt --chunks 100 -o imatrix.gguf",
)
  .requiredOption("--text-file <path>", "the text, like what the model will be used for; - for standard input")
  .option("-o, --output <path>", "where to write it", "imatrix.gguf")
  .option("--overwrite", "replace what is there")
  .addOption(preset("--chunk <n>", "tokens of a chunk; each starts anew", "512"))
  .option("--chunks <n>", "most chunks; the whole text without it")
  .option("--threads <n>", "CPU threads; all without it")
  .action(run(async () => (await import("./imatrix.ts")).imatrix));

/** A command over a graph in text. */
function graphCommand(name: string, summary: string, ...shown: readonly string[]): Program {
  return program
    .command(name)
    .description(summary)
    .argument("<file>", "a graph in text (docs/ir-text.md), or - for standard input")
    .option(...JSON_OPTION)
    .addHelpText("after", examples(shown));
}

graphCommand("fmt", "a graph's text in its one layout", "rlx fmt graph.rlx", "rlx fmt --write graph.rlx")
  .option("--write", "write it back")
  .option("--check", "only say, by the exit code, whether it would change")
  .action((file: string, options: FormatOptions, command: Program) =>
    run(async () => {
      const { format } = await import("./graphText.ts");
      return (of: Command, _model: ModelChoice, given: FormatOptions) => format(of, file, given);
    })(undefined, options, command),
  );

graphCommand(
  "eval",
  "run a graph once, beside the float64 reference; inputs that are not given are drawn",
  "rlx eval graph.rlx --input x=1,2,3",
  "rlx eval graph.rlx --input x=x.npy --symbol T=8 --device mlx -o results",
)
  .addOption(several("--input <numbers>", "x=1,2,3 row by row, or x=file.npy, or x=file.npz"))
  .addOption(several("--symbol <size>", "N=8: a size that no input tells; 4 without it"))
  .addOption(preset("--device <id>", "where it runs", "cpu"))
  .option("--seed <n>", "of the inputs that are drawn")
  .option("-o, --output <folder>", "write each output there as .npy; made where there is none")
  .action((file: string, options: EvalOptions, command: Program) =>
    run(async () => {
      const { evaluateText } = await import("./graphRuns.ts");
      return (of: Command, _model: ModelChoice, given: EvalOptions) => evaluateText(of, file, given);
    })(undefined, options, command),
  );

graphCommand("grad", "the graph with the gradient of its loss, as text", "rlx grad loss.rlx --wrt w,b > grad.rlx")
  .option("--of <output>", "the output that is one number; the first such without it")
  .option("--wrt <names>", "inputs and parameters; all in floats without it")
  .action((file: string, options: DeriveOptions, command: Program) =>
    run(async () => {
      const { derive } = await import("./graphText.ts");
      return (of: Command, _model: ModelChoice, given: DeriveOptions) => derive(of, file, "grad", given);
    })(undefined, options, command),
  );

graphCommand("vmap", "the graph of many items at once, as text", "rlx vmap graph.rlx --size 8 > batch.rlx")
  .option("--size <n>", "how many: a number or a symbol; N without it, or another that the graph does not have")
  .option("--inputs <names>", "inputs that differ from item to item; all of them without it")
  .action((file: string, options: DeriveOptions, command: Program) =>
    run(async () => {
      const { derive } = await import("./graphText.ts");
      return (of: Command, _model: ModelChoice, given: DeriveOptions) => derive(of, file, "vmap", given);
    })(undefined, options, command),
  );

program
  .command("new")
  .description("a small graph in text to start from; without a name, the list")
  .argument("[name]", "a graph of the gallery, such as cnn or lstm")
  .option(...JSON_OPTION)
  .addHelpText("after", examples(["rlx new", "rlx new cnn > cnn.rlx"]))
  .action((name: string | undefined, options: CommonOptions, command: Program) =>
    run(async () => {
      const { newGraph } = await import("./graphRuns.ts");
      return (of: Command) => newGraph(of, name);
    })(undefined, options, command),
  );

program
  .command("ops")
  .description("the operations of graphs: what each is, its attributes, and what runs it where")
  .argument("[query]", "the name of one, or words of its meaning; all of them without it")
  .option("--graph <n>", "of one operation: its sample of this number as the text of a graph")
  .option(...JSON_OPTION)
  .addHelpText("after", examples(["rlx ops", "rlx ops softmax", "rlx ops add --graph 0 > add.rlx"]))
  .action((query: string | undefined, options: OpsOptions, command: Program) =>
    run(async () => {
      const { ops } = await import("./ops.ts");
      return (of: Command, _model: ModelChoice, given: OpsOptions) => ops(of, query, given);
    })(undefined, options, command),
  );

program
  .command("train")
  .description("train a net by a recipe or a spec; without one, say what there is")
  .argument("[spec]", "the name of a recipe, a .json file with a spec, a graph (.rlx), or - for standard input")
  .addHelpText(
    "after",
    examples([
      "rlx train linear --steps 200 --device cpu --json",
      "rlx train digits -o digits.safetensors",
      'rlx train characters --data tale.txt --sample-every 100 --prompt "The "',
      "rlx train lora --model model.gguf --data chats.jsonl -o adapter.gguf",
      "rlx train lora --model model.gguf --data chats.jsonl --field merge=q8_0 -o merged.gguf",
      "rlx train full --model model.gguf --data tale.txt --field type=f16 -o tuned.gguf",
      "rlx train digits --steps 300 --quantize 2,4 --quantize-after 200",
      "rlx train net.rlx --data points.npz --batch 64 -o weights.safetensors",
      "rlx train spec.json --checkpoint half.safetensors --checkpoint-every 500",
      "rlx train spec.json --resume half.safetensors",
    ]),
  )
  .option("--model <path>", "with lora and full: the model that is trained")
  .option("--data <path>", "what is learnt, in place of the recipe's own: a text, chats (.jsonl), or arrays (.npz)")
  .option("--steps <n>", "updates; the recipe's own number without it, as for all of these")
  .option("--batch <n>", "examples of a step")
  .option("--accumulate <n>", "batches whose gradients make one update, as their mean")
  .option("--average <decay>", "validate and write an average of the weights: 0.999 looks back on a thousand steps")
  .option("--quantize <bits>", "calibrate the net to weights in so many bits; 4,8: and its activations in 8")
  .option("--quantize-after <n>", "so many updates in floats, and train it on in few bits behind them")
  .option("--optimizer <name>", "adamw, sgd, muon …: a wrong one names them all")
  .option("--lr <rate>", "the highest learning rate")
  .option("--precision <name>", "of the gradients: f32, mixed or f16")
  .option("--device <id>", "what trains: cpu, mlx, coreml-sim or coreml")
  .option("--on-host", "update the weights in float64 beside the device, not on it")
  .option("--seed <n>", "of first weights, order and words")
  .option("--validate-every <n>", "steps between losses over held data; 0: never")
  .option("--sample-every <n>", "steps between texts that the model writes; 0: never")
  .option("--prompt <text>", "how these texts begin")
  .addOption(several("--field <rule>", "name=value: a field of the recipe, such as width=64"))
  .option("--checkpoint <path>", "save everything that the next step needs here, at the end or when it is stopped")
  .option("--checkpoint-every <n>", "and every so many steps")
  .option("--resume <path>", "go on from a checkpoint of the same spec")
  .option("-o, --out <path>", "write the result here: weights (.safetensors), or an adapter or a model (.gguf)")
  .option("--overwrite", "replace what is there")
  .option("--runs", "list the runs that are kept")
  .option("--json", "a JSON value for each step of the work on its own line; one value for lists")
  .action(run(async () => (await import("./train.ts")).train));

onTarget(
  sampling(
    told(
      addFor(
        OR_SAMPLE,
        "run",
        "complete a prompt, or answer it with tools",
        'rlx run model.gguf -p "Once upon a time" -n 100 --seed 1',
        'rlx run model.gguf -p "Weather in Rome?" --tools tools.json --tool-choice required --json',
        "rlx run --demo --units all",
        "rlx run graph.rlx --device coreml-sim",
      )
        .addOption(once("-p, --prompt <text>", "prompt; default: standard input without the final newline"))
        .addOption(once("--prompt-file <path>", "read it from a file, whole; - for standard input, as above"))
        .addOption(several("--input <numbers>", "of a graph in text (.rlx): as for rlx eval"))
        .addOption(several("--symbol <size>", "of a graph in text: N=8, a size that no input tells"))
        .option("--experts", "of a mixture: which experts each layer chose for prompt and answer, read once more")
        .addOption(DEMO_INSTEAD),
      "; the prompt is then a message",
    ),
  ),
  "; with --demo only",
).action(run(async () => (await import("./run.ts")).complete));

sampling(
  told(
    addFor(
      OR_SAMPLE,
      "chat",
      "talk with the model",
      "rlx chat model.gguf",
      'rlx chat model.gguf -m "Tell me a story." --json',
      "rlx chat model.gguf --conversation talk.json --save talk.json",
      "rlx chat model.gguf --tools tools.json --template-var enable_thinking=false",
      "rlx chat model.gguf --tools tools.json --tool-choice required",
    )
      .addOption(several("-m, --message <text>", "say this and end; without it, a conversation"))
      .option("--system <text>", "the system prompt")
      .addOption(
        once("--conversation <file>", "go on with a conversation that was saved as JSON, here or in the window"),
      )
      .addOption(
        once("--save <file>", "write the conversation there after each answer: JSON, or Markdown into a .md file"),
      ),
  ).option("--reasoning <how>", "show or hide what the model thinks before it answers", "show"),
).action(run(async () => (await import("./chat.ts")).chat));

add(
  "template",
  "the chat template: text and tokens of a conversation, what it leaves out or refuses, calls there and back",
  "rlx template model.gguf --conversation tools --tokens",
  "rlx template model.gguf --messages talk.json --tools tools.json --json",
  "rlx template model.gguf --against tokenizer_config.json",
)
  .addOption(once("--conversation <id>", "user, system (default), turns, tools, tool-result, developer or reasoning"))
  .addOption(once("--messages <path>", "a conversation of your own: a JSON list of messages; - for standard input"))
  .addOption(once("--tools <json>", "JSON list of functions, or a file with it"))
  .addOption(once("--template <name>", "one of the file's named chat templates"))
  .addOption(several("--template-var <pair>", "a variable of the chat template, as name=value"))
  .option("--no-generation-prompt", "without the beginning of the answer")
  .addOption(once("--against <path>", "another template (.jinja, or tokenizer_config.json) to compare with"))
  .option("--tokens", "each token with its id; special ones are marked")
  .action(run(async () => (await import("./template.ts")).inspectTemplate));

withText(
  add(
    "score",
    "log-probability of each token of a text, and its perplexity",
    "rlx score model.gguf --text-file story.txt",
    "rlx score model.gguf --ids 1,2,3 --json",
  ),
)
  .option("--ids <list>", "token ids, separated by commas")
  .addOption(adapters())
  .option("--threads <n>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu or mlx", "cpu"))
  .addOption(
    preset(
      "--cache <type>",
      "type of the cache: f32 (llama.cpp's own numbers for f32 and f16 files) f16 (half the memory), q8_0 or q4_0 (packed, on the CPU)",
      "f32",
    ),
  )
  .addOption(preset("--chunk <n>", "tokens handled at once", "512"))
  .action(run(async () => (await import("./score.ts")).score));

withText(
  add(
    "choose",
    "which of several files of one model to take: distance of their answers from the first file's, and speed here",
    "rlx choose f16.gguf --also q8_0.gguf --also q4_k_m.gguf --text-file story.txt",
    "rlx choose q8_0.gguf --also q4_k_m.gguf --text-file story.txt --no-speed --json",
  ),
)
  .option("--ids <list>", "token ids, separated by commas")
  .addOption(several("--also <file>", "another file of the same model"))
  .addOption(preset("--most <n>", "tokens that are read at most", "512"))
  .addOption(preset("--within <nats>", "mean KL divergence up to which a file is close to the first", "0.05"))
  .option("--threads <n>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu or mlx", "cpu"))
  .option("--no-speed", "without the benchmark")
  .option("--warn", "measure in a machine that is not quiet, too, without a verdict")
  .action(run(async () => (await import("./choose.ts")).chooseFile));

add(
  "embed",
  "vectors of texts, by the file's pooling, and how alike the texts are",
  'rlx embed model.gguf --text "a cat" --text "a dog" --similarity',
  "rlx embed model.gguf --lines texts.txt --json",
)
  .addOption(several("-t, --text <text>", "a text"))
  .addOption(once("--lines <path>", "a file with a text in each line; - for standard input, as without any text"))
  .option("--pooling <name>", "none (a vector for each token), mean, cls, last or rank (scores), instead of the file's")
  .option("--no-normalise", "leave the length of the vectors as it is")
  .option("--similarity", "the cosine of each text with each other")
  .option("--threads <n>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu, mlx, coreml or coreml-sim", "cpu"))
  .action(run(async () => (await import("./embed.ts")).embed));

add(
  "rerank",
  "documents sorted by how well they answer a query: by a reranker's scores, or by the cosine of an embedder's vectors",
  'rlx rerank model.gguf -q "What is a panda?" -d "A bear from China." -d "A small car."',
  'rlx rerank model.gguf -q "What is a panda?" --lines documents.txt --json',
)
  .addOption(once("-q, --query <text>", "the query"))
  .addOption(several("-d, --document <text>", "a document"))
  .addOption(
    once("--lines <path>", "a file with a document in each line; - for standard input, as without any document"),
  )
  .option("--threads <n>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu, mlx, coreml or coreml-sim", "cpu"))
  .action(run(async () => (await import("./embed.ts")).rerank));

withText(
  add(
    "experts",
    "which experts each layer of a mixture chooses while it reads a text",
    "rlx experts mixture.gguf --text-file story.txt",
    'rlx experts mixture.gguf --text "Hello there" --json',
  ),
)
  .option("--ids <list>", "token ids, separated by commas")
  .option("--threads <n>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu or mlx", "cpu"))
  .action(run(async () => (await import("./experts.ts")).experts));

withText(
  add(
    "tokenize",
    "tokens of a text; incomplete UTF-8 bytes print as <0xE3>",
    'rlx tokenize model.gguf --text "Hello there"',
  ),
).action(run(async () => (await import("./score.ts")).tokenize));

add(
  "bench",
  "prompt processing and generation in turn: a matrix of tokens, depth, threads, devices and models",
  "rlx bench model.gguf -p 512 -n 64 -t 2 --json",
  "rlx bench model.gguf -p 128,512 -n 32 -d 0,2048 -t 1-4",
  "rlx bench q4.gguf --also q8.gguf -o md",
  "rlx bench q4.gguf q8.gguf --decide 60",
  "rlx bench graph.rlx --device cpu,mlx",
)
  .argument("[other]", "a second model, measured in turn with the first, as with --also")
  .option(
    "-p, --pp <list>",
    "prompt tokens, such as 512, 128,512 or 1-4; 0 leaves the test out; 512, with --decide 128",
  )
  .option("-n, --tg <list>", "generated tokens; 0 leaves the test out; 128, with --decide 32")
  .addOption(preset("-d, --depth <list>", "tokens that the cache holds already", "0"))
  .option("-t, --threads <list>", "CPU threads; all without it")
  .addOption(preset("--device <id>", "cpu, mlx or coreml, or a list of them", "cpu"))
  .addOption(several("--also <file>", "a further model, measured in turn with the first"))
  .addOption(preset("-r, --repeats <n>", "rounds that count; six or more give a 95 % interval", "6"))
  .addOption(preset("--warmup <n>", "rounds before those", "1"))
  .option("--seconds <n>", "as many rounds as fit into this time, at least six, instead of --repeats")
  .option("--decide <seconds>", "rounds until it is clear which is faster, or until this time is up")
  .addOption(
    once("-o, --output <form>", "md, csv or llama (llama-bench's columns), or json (with the time of each token)"),
  )
  .addOption(precision())
  .addOption(cacheTypeOption())
  .option("--warn", "measure although the machine is hot, on battery or busy, and mark the result")
  .addOption(adapters())
  .action((file: string | undefined, other: string | undefined, options: BenchOptions, command: Program) =>
    run(async () => {
      const { bench } = await import("./bench.ts");
      return (of: Command, model: ModelChoice, given: BenchOptions) => bench(of, model, other, given);
    })(file, options, command),
  );

onDevice(
  addFor(
    "a model as for other commands, or a recording (.rlxtrace)",
    "profile",
    "where the time of a token goes: by op or layer, with achieved bandwidth",
    "rlx profile model.gguf --perfetto trace.json",
    "rlx profile model.gguf --save today.rlxtrace --compare yesterday.rlxtrace",
    "rlx profile --compare yesterday.rlxtrace today.rlxtrace --perfetto both.zip",
    "rlx profile graph.rlx",
  )
    .addOption(preset("--pp <n>", "prompt tokens", "64"))
    .addOption(preset("--tg <n>", "generated tokens", "16"))
    .addOption(preset("--by <what>", "rows of the table: op or layer", "op"))
    .option("--save <path>", "keep the recording as a file (.rlxtrace)")
    .option("--compare <files...>", "beside an earlier recording, or two of them without a file")
    .option("--trace <path>", "write a Chrome trace, for Perfetto or speedscope; .zip: a file for each recording")
    .option("--perfetto <path>", "the same as --trace")
    .addOption(adapters()),
  "cpu, mlx or coreml",
).action(run(async () => (await import("./profile.ts")).profile));

forTarget(
  add(
    "compiles",
    "what Core ML compiled on this Mac: times, failures, what a system update changed, the operation that it refuses",
    "rlx compiles",
    "rlx compiles model.gguf --explain --units cpu-ane",
    "rlx compiles --verify",
  ),
)
  .option(
    "--explain",
    "compile the model and pieces of it in a helper, until the operations that are refused are found",
  )
  .option("--verify", "after an update of macOS: load what is in the list again, and say what changed")
  .option("--allow <name>", "let a model be loaded once more that ended its helper; the list has its name")
  .action(run(async () => (await import("./compiles.ts")).compiles));

program
  .command("doctor")
  .description("check this machine: addon, devices, memory, simulator")
  .option("--clear-cache", "remove the compiled plans, calibrations and Core ML models that are kept on disk")
  .option("--calibrate", "measure what each device does here, once, and say which is the best")
  .option("--verify", "on a Mac: ask Core ML what only it can answer, and compare its plans with the predictions")
  .option("-o, --output <folder>", "with --verify: write answers, plans and predictions there")
  .option(...JSON_OPTION)
  .addHelpText("after", examples(["rlx doctor", "rlx doctor --verify -o verification"]))
  .action((options: CommonOptions, command: Program) =>
    run(async () => (await import("./doctor.ts")).doctor)(undefined, options, command),
  );

program
  .command("session")
  .description("sessions of windows that are kept: list them, hand one on as a file, take one in")
  .argument("[what]", "list, export, import or remove; list without it")
  .argument("[name]", "the id of a session, the newest without it; for import the .rlxsession file")
  .option("-o, --output <path>", "with export: the file to write; standard output without it")
  .option("--overwrite", "with export: replace what is there")
  .option("--names-only", "with export: names of model files instead of their paths on this machine")
  .option(...JSON_OPTION)
  .addHelpText(
    "after",
    examples([
      "rlx session",
      "rlx session export --names-only -o talk.rlxsession",
      "rlx session import talk.rlxsession",
    ]),
  )
  .action((what: string | undefined, name: string | undefined, options: SessionOptions, command: Program) =>
    run(async () => {
      const { session } = await import("./session.ts");
      return (of: Command, _model: ModelChoice, given: SessionOptions) => session(of, what, name, given);
    })(undefined, options, command),
  );

program
  .command("models")
  .description(
    "models that lie on this machine: of LM Studio, Ollama, Hugging Face, llama.cpp, and in folders of yours",
  )
  .argument("[what]", "list, add or remove; list without it")
  .argument("[folder]", "the folder to look in from now on, or no longer")
  .option(...JSON_OPTION)
  .addHelpText("after", examples(["rlx models", "rlx models add ~/models", "rlx models --json"]))
  .action((what: string | undefined, folder: string | undefined, options: CommonOptions, command: Program) =>
    run(async () => {
      const { models } = await import("./models.ts");
      return (of: Command, _model: ModelChoice, given: CommonOptions) => models(of, what, folder, given);
    })(undefined, options, command),
  );

program
  .command("settings")
  .description("what is set once for this machine: shown, or changed")
  .argument("[name]", "a setting, or reset for all of them as at first")
  .argument("[value]", "what it becomes")
  .option(...JSON_OPTION)
  .addHelpText("after", examples(["rlx settings", "rlx settings memory-limit 8G", "rlx settings first-subject mlx"]))
  .action((name: string | undefined, value: string | undefined, options: CommonOptions, command: Program) =>
    run(async () => {
      const { settings } = await import("./settings.ts");
      return (of: Command, _model: ModelChoice, given: CommonOptions) => settings(of, name, value, given);
    })(undefined, options, command),
  );

program
  .command("serve")
  .description("the workbench in a browser, on loopback only; with --api an OpenAI-compatible server")
  .argument("[files...]", `the model to open: ${MODEL_FILE}; with --api several`)
  .addOption(preset("--port <n>", "port; 0 for a free one", "0"))
  .option("--open", "open the browser")
  .option("--json", "print address and token, or key and models, as one line of JSON")
  .option("--api", "serve other programs instead: /v1/chat/completions and its like (docs/server.md)")
  .addOption(several("--models <folder>", "with --api: offer the model files in this folder"))
  .option("--host <address>", "with --api: the address to listen on; beyond loopback a key of yours is needed")
  .option("--api-key <key>", "with --api: the key to ask for, a new one without it; better in RLX_API_KEY")
  .option("--no-key", "with --api: ask for none, on loopback only; then every program here may ask")
  .option("--device <id>", "with --api: cpu, mlx or coreml")
  .option("--context <n>", "with --api: positions of each conversation, 8192 without it")
  .option("--threads <n>", "with --api: CPU threads; all without it")
  .addOption(cacheTypeOption("with --api: "))
  .option("--memory <n>", "with --api: gigabytes of model files open at once; three quarters of the memory without it")
  .option("--max-waiting <n>", "with --api: requests that may wait, 64 without it")
  .option("--log-texts", "with --api: prompts and answers in the log too")
  .addHelpText(
    "after",
    examples([
      "rlx serve model.gguf --open",
      "rlx serve --api model.gguf --port 8080",
      "rlx serve --api --models ~/models",
    ]),
  )
  .addHelpText("after", "\nCtrl+C ends it with exit code 130; SIGTERM, as services are ended, with 0.")
  .action((files: readonly string[], options: ServeCommandOptions) => {
    parsing.job = serveJob(files, options);
  });

const commandNamed = (word: string): Program | undefined =>
  program.commands.find((command) => command.name() === word || command.aliases().includes(word));

/** Reduces the help of an unknown command to its name, so that the parser refuses it. */
function parsed(words: readonly string[]): readonly string[] {
  const [first, ...rest] = words;
  const name = first === "help" ? rest.find((word) => !word.startsWith("-")) : first;
  return name === undefined || name === "help" || name.startsWith("-") || commandNamed(name) ? words : [name];
}

/** A parser's error in the form of our own. */
function misuse(error: CommanderError, [word = ""]: readonly string[]): readonly [error: WorkbenchError, name: string] {
  const named = commandNamed(word);
  const name = named === undefined ? "rlx" : `rlx ${named.name()}`;
  const [said = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const hint = `${more.join(" ").replace(/^\(|\)$/g, "")} \`${name} --help\` shows what there is.`.trimStart();
  return [new WorkbenchError("INPUT_ARGUMENT", `[${name}] ${said}`, { hint }), name];
}

/** Runs a command line; gives its exit code. Several may run at once. */
export async function runCommandLine(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { streams } = surroundings;
  Object.assign(parsing, { job: undefined, out: "", err: "", streams });
  try {
    program.parse(parsed(words), { from: "user" });
  } catch (error) {
    if (parsing.out !== "") streams.stdout.write(parsing.out);
    if (parsing.err !== "") streams.stderr.write(parsing.err);
    // Help and version are printed by now. Exit code 2 if the command was missing.
    if (error instanceof CommanderError && /^commander\.(?:help|version$)/.test(error.code))
      return error.exitCode === 0 ? 0 : 2;
    const [fault, name] = error instanceof CommanderError ? misuse(error, words) : [error, "rlx"];
    return fail(fault, name, { json: words.includes("--json"), stack: showsStack(surroundings) }, surroundings);
  }
  const { job } = parsing;
  if (job === undefined)
    throw new WorkbenchError("BUG_INVARIANT", `[rlx] ${words.join(" ")}: got no command, expected one or an error`);
  return job(surroundings);
}
