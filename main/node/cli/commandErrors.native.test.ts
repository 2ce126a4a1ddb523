/** Every wrong use of a command: exit code, error code, and the same words for people and programs. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { COMMAND_NAMES, commandFolder } from "../../testing/commandFolder.ts";
import { rlx } from "../../testing/rlx.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

const { folder, home, slow, words, command } = commandFolder();

const failure = z.object({
  error: z.object({ code: z.string(), message: z.string().regex(/^\[[^\]]+\] \S/), hint: z.string().min(1) }),
});

/** Options without which a command's other ones are not read. */
const NEEDED: Readonly<Record<string, string>> = { quantize: "--to q8_0", imatrix: "--text-file none.txt" };

/** What is wrong, the exit code (2: the command line, 1: what it was given), and the words that say so. */
const ERRORS: readonly (readonly [line: string, code: 1 | 2, says: RegExp])[] = [
  ["inspct", 2, /\[rlx\] unknown command 'inspct'[^]*Did you mean inspect\?/],
  ["help inspct", 2, /\[rlx\] unknown command 'inspct'[^]*Did you mean inspect\?/],
  ["help nosuch", 2, /\[rlx\] unknown command 'nosuch' `rlx --help` shows what there is\./],
  ["nosuch --help", 2, /\[rlx\] unknown command 'nosuch'/],
  ...COMMAND_NAMES.map(
    (name) =>
      [
        `${name} ${NEEDED[name] ?? ""} --nope`.replace("  ", " "),
        2,
        new RegExp(`\\[rlx ${name}\\] unknown option '--nope'`),
      ] as const,
  ),
  ["inspect one two", 2, /too many arguments/],
  ['inspect ""', 2, /no file named: got nothing/],
  ['serve ""', 2, /no file named: got nothing/],
  ...["inspect", "graph", "score --text abc", "tokenize --text abc", "bench", "profile"].map(
    (line) => [line, 2, /no model: expected a \.gguf file Give a file, or --sample/] as const,
  ),
  ["tensors FILE --values 0:0", 2, /--values: got no tensor, expected --tensor/],
  ["tensors FILE --tensor blk --values 0:0", 2, /--tensor: got \d+ tensors that hold "blk", expected one/],
  ["tensors FILE --tensor nosuch", 2, /--tensor: got nosuch, expected a tensor of this file/],
  ["tensors FILE --tensor token_embd.weight --values 5", 2, /--values: got 5, expected row:column/],
  ["tensors FILE --tensor token_embd.weight --values 0:999", 2, /column of token_embd\.weight: got 999, expected 0 to/],
  ["tensors FILE --for gpu", 2, /--for: got gpu, expected one of .*mlx/],
  ["tensors FILE --group colour", 2, /--group: got colour, expected one of none, layer, role, type, form/],
  ["tensors FILE --group form", 2, /--group form: got no --for, expected one/],
  ["tensors FILE --group layer --stats", 2, /--group and --for: got them with --stats or --values/],
  ["tensors FILE --expert 3", 2, /--expert: got it without --values, expected both/],
  ["convert FILE --split-max-tensors 0 --dry-run", 2, /\[rlx\] --split-max-tensors: got 0, expected a whole number/],
  ["check FILE --against DIR/missing.gguf", 1, /missing\.gguf/],
  ["bisect DIR/fit.rlx --watch ane", 2, /\[rlx bisect\] --watch: got ane, expected a model's file/],
  ["bisect DIR/fit.rlx --tolerance 2", 2, /--tolerance: got 2, expected a number from 0 to 1/],
  ["bisect DIR/fit.rlx --input x", 2, /\[rlx bisect\] --input: got x, expected name=…/],
  ["bisect DIR/fit.rlx --symbol Q=4", 2, /\[bisect\] symbol: got Q, expected /],
  ["bisect FILE --seed 2", 2, /\[rlx bisect\] got options of a run, expected a graph in text/],
  ["bisect FILE --watch speed", 2, /--watch: got speed, expected ane, hops, seconds, ops or op:ID/],
  ["eval DIR/fit.rlx --input z=1", 2, /\[run\] input: got z, expected x, y/],
  ["eval DIR/fit.rlx --input x", 2, /\[rlx eval\] --input: got x, expected name=…/],
  ["eval DIR/fit.rlx --input x=1,,2", 2, /\[rlx eval\] --input x: got 1,,2, expected numbers/],
  ["eval DIR/fit.rlx --input x=1,nope", 2, /--input x: got 1,nope, expected numbers/],
  ["eval DIR/fit.rlx --input x=1,1e999", 2, /--input x: got 1,1e999, expected numbers/],
  ["eval DIR/fit.rlx --input x=1 --input x=2", 2, /\[rlx eval\] --input: got x twice, expected it once/],
  ["compile DIR/fit.rlx --dry-run --symbol Q=4", 2, /\[export\] symbol: got Q, expected N/],
  ["compile FILE --dry-run --symbol N=4", 2, /\[export\] symbol: got N, expected a graph in text/],
  ["eval DIR/fit.rlx --symbol Q=4", 2, /\[rlx eval\] --symbol: got Q, expected /],
  ["eval DIR/fit.rlx --device nosuch", 2, /--device: got nosuch, expected cpu, coreml-sim, coreml or mlx/],
  ...["eval", "run", "bench", "profile", "grad", "vmap", "bisect", "route"].map(
    (name) => [`${name} DIR/wrong.rlx`, 1, /\[wrong\.rlx:7:8\] \[mull\] no such op, and 1 more/] as const,
  ),
  ["eval DIR/fit.rlx -o DIR/text.txt", 2, /\[rlx eval\] --output: got \S+text\.txt, which is no folder, expected one/],
  ["eval DIR/fit.rlx -o DIR/text.txt/results", 2, /--output: got \S+text\.txt, which is no folder, expected one/],
  ["grad DIR/fit.rlx --of nosuch", 2, /nosuch/],
  ["vmap DIR/fit.rlx --size N", 2, /\[vmap\] size: got N, expected another symbol or a number: [^]* Take B\./],
  ["fmt - --write", 2, /--write: got it with --check or standard input/],
  ["new nosuch", 2, /got "nosuch", expected linear-regression, cnn, [^]* or fft-filter/],
  ["bench DIR/fit.rlx --device coreml-sim", 2, /--device: got coreml-sim, expected cpu or mlx/],
  ["ops nosuch", 2, /got "nosuch", expected the name of an operation/],
  ["ops add --graph 999", 2, /sample of add: got 999, expected 0 to \d+/],
  ["ops --graph 0", 2, /--graph: got no operation/],
  ["train nosuch", 2, /\[train\] recipe: got nosuch, expected one of linear, digits, characters, graph, lora, full/],
  ["train linear --steps 0", 2, /--steps: got 0, expected a whole number from 1/],
  ["train linear --lr fast", 2, /--lr: got fast, expected a number from 0/],
  ["train linear --average 1", 2, /--average: got 1, expected a number from 0 that is below 1/],
  ["train digits --quantize 1", 2, /--quantize: got 1, expected a whole number from 2 to 8/],
  ["train digits --quantize 4,8,2", 2, /--quantize: got 4,8,2, expected <weights> or <weights>,<activations>/],
  ["train digits --quantize-after 9", 2, /--quantize-after: got it without --quantize, expected both/],
  ["train digits --quantize 4 --resume a", 2, /quantize: got it with a checkpoint, expected one of both/],
  ["train linear --field depth=2", 2, /\[train linear\] field: got depth, expected loss/],
  ["train linear --optimizer nosuch", 2, /\[optimizer\] got nosuch, expected one of sgd, adam/],
  ["train linear --checkpoint-every 5", 2, /--checkpoint-every: got it without --checkpoint, expected both/],
  ["train linear -o DIR/weights.bin", 2, /weights\.bin: expected a name that ends in \.safetensors/],
  ["train linear --runs", 2, /--runs: got linear besides, expected nothing/],
  ["train lora", 2, /\[train lora\] model: got none, expected the one that is trained/],
  ["train DIR/missing.json", 1, /missing\.json/],
  ["run FILE", 2, /no prompt/],
  ['run "What is 3 + 4?"', 2, /no prompt Give one with -p: "What is 3 \+ 4\?" stands where a file is named/],
  ["run FILE -p x --temperature hot", 2, /--temperature: got hot, expected a number from 0 to 10/],
  ["run FILE -p x --temperature 0x1", 2, /--temperature: got 0x1/],
  ["run FILE -p x -n 0", 2, /--max-tokens: got 0/],
  ['run FILE -p x --stop ""', 2, /--stop: got nothing, expected a text/],
  [`run FILE -p x --stop ${"x".repeat(1001)}`, 2, /stop\.0: [^]*`rlx run --help`/],
  ["run FILE -p x --prompt-file DIR/text.txt", 2, /the prompt: got --prompt and --prompt-file, expected one/],
  ["run FILE -p x -p y", 2, /--prompt: got two, expected one/],
  ["score FILE --text-file DIR/text.txt --text-file DIR/text.txt", 2, /--text-file: got two, expected one/],
  ["score FILE --text-file DIR", 1, /got a folder, expected a file with text/],
  ["run FILE --prompt-file DIR", 1, /got a folder, expected a file with text/],
  ["tokenize FILE --text-file /dev/zero", 1, /\/dev\/zero: got a device, expected a file with text/],
  ["score FILE --text-file DIR/latin.txt", 1, /latin\.txt: got the byte 0xE9 at offset 3, expected UTF-8/],
  ["run FILE --prompt-file DIR/toolong.txt", 1, /the prompt: got 15\d\d tokens, expected at most 1024/],
  ["run FILE --prompt-file DIR/huge.txt", 1, /huge\.txt: got 300 MB, expected at most 268 MB/],
  ["run FILE -p x --device tpu", 2, /--device: got tpu, expected cpu/],
  ["run FILE --prompt-file DIR/missing.txt", 1, /missing\.txt cannot be read/],
  ["chat FILE", 2, /--json needs --message/],
  ["chat FILE -m x --save DIR/text.txt", 2, /--save: got [^]*text\.txt, which exists, expected a new file/],
  ["chat FILE -m x --conversation DIR/text.txt", 1, /\[conversation\] got text that is no JSON/],
  ["bench FILE --pp 1e3", 2, /--pp: got 1e3, expected whole numbers from 0 to 1048576, such as 4, 1,2,8 or 1-4/],
  ["bench FILE -t 4-1", 2, /--threads: got 4-1/],
  ["bench FILE -o xml", 2, /--output: got xml, expected one of md, csv, json, llama/],
  ['bench FILE --tg ""', 2, /--tg: got nothing/],
  ["bench FILE --pp 1025", 2, /got 1025 tokens, expected at most 1024: [^]*Measure fewer tokens\./],
  ["profile FILE --pp 1020 --tg 5", 2, /\[profile\] got 1025 tokens, expected at most 1024/],
  ["bench FILE --device coreml-sim", 1, /A simulator’s speed/],
  ["profile FILE --pp 0", 2, /--pp: got 0, expected a whole number from 1 to 65536/],
  ["profile FILE --tg 0", 2, /--tg: got 0, expected a whole number from 1 to 4096/],
  ["profile FILE --threads 0", 2, /--threads: got 0/],
  ["score FILE --ids 1,,2", 2, /--ids: got nothing/],
  ["score FILE --ids 1,99999", 2, /got 99999, expected 0 to 1023/],
  ["score FILE --text a", 2, /got 1 token, expected at least 2/],
  ["score FILE", 2, /no text Give --text, --text-file or --ids\./],
  ["score FILE --ids 1", 2, /got 1 token, expected at least 2 Give a longer text/],
  ["tokenize FILE", 2, /no text Give --text or --text-file\./],
  ["bench FILE --decide 5", 2, /decideWithin: got one subject, expected two or more[^]*Name a second model/],
  ["bench FILE FILE --decide 5 --seconds 5", 2, /got --seconds and --decide, expected one of them/],
  ["bench FILE FILE --decide 0", 2, /--decide: got 0, expected a whole number from 1 to 3600/],
  ["bench DIR/fit.rlx FILE", 2, /got a graph in text with a second file or --decide/],
  ["bench FILE --pp 0 --tg 0", 2, /--pp and --tg: got 0 and 0, expected something to measure/],
  ["score FILE --text abc --cache q8", 2, /--cache: got q8, expected f16, f32, q8_0, q4_0/],
  ["run FILE -p abc --cache-type q8", 2, /--cache-type: got q8, expected f16, f32, q8_0, q4_0/],
  ["inspect FILE --cache-type q8", 2, /--cache-type: got q8, expected f16, f32, q8_0, q4_0/],
  ["bench FILE --cache-type q8", 2, /--cache-type: got q8, expected f16, f32, q8_0, q4_0/],
  [
    "bench FILE --device cpu,mlx --cache-type q8_0",
    2,
    /type of keys and values: got q8_0 on [^]*MLX[^]*, expected f16 or f32 Only the CPU engine [^]*choose cpu/,
  ],
  ["tokenize FILE --text-file DIR/missing.txt", 1, /missing\.txt cannot be read/],
  ["graph FILE --stage late", 2, /pass: got late, expected one of dead code, .*, legal/],
  ["graph FILE --backend gpu", 2, /--backend: got gpu, expected one of coreml, cpu, mlx/],
  ["graph FILE --by time", 2, /--by: got neither --node-data nor --svg, expected the file to write/],
  [
    "graph FILE --svg DIR/g.svg --by colour",
    2,
    /--by: got colour, expected device, segment, time, bytes, flops or type/,
  ],
  ["graph FILE --svg DIR/g.svg --theme blue", 2, /--theme: got blue, expected light or dark/],
  ["graph FILE --expand", 2, /--theme, --expand: got no --svg, expected the file to write/],
  ["graph FILE --node-data DIR/n.json --by colour", 2, /--by: got colour, expected time, bytes or flops/],
  ["graph FILE --phase never", 2, /--phase: got never, expected decode or prefill/],
  ["graph FILE --os macos9", 2, /--os: got macos9, expected one of/],
  ["passes FILE --os macos9", 2, /--os: got macos9, expected one of/],
  ["route FILE --chip m9", 2, /--chip: got m9, expected one of m1/],
  ["route FILE --expect ane", 2, /--expect: got ane, expected for example/],
  ["segments FILE --units gpu", 2, /--units: got gpu/],
  ["compile FILE --profile best", 2, /--profile: got best/],
  ["compile FILE -o DIR/none/x.mlpackage", 2, /does not exist/],
  ["compile FILE --dry-run -o DIR/x.bin", 2, /expected a name that ends in \.mlpackage/],
  ["compile --demo --dry-run", 2, /unknown option '--demo'/],
  ["graph FILE --mil --stage built", 2, /--mil: got --backend coreml --stage built, expected neither/],
  ["compile --header-only -o DIR/header.mlpackage", 2, /a header without weights: there is nothing to export/],
  ["compile FILE -o DIR/text.txt", 2, /text\.txt/],
  ["compile FILE -o DIR/taken.mlpackage", 2, /exists already Choose another name, or --overwrite\./],
  ["compile FILE --phase prefill", 2, /unknown option '--phase'/],
  ["doctor --calibrate --clear-cache", 2, /got --clear-cache and --calibrate, expected one/],
  ["doctor -o DIR/kept", 2, /--output: expected together with --verify/],
  ["route FILE --planned --expect ane>=0.5", 2, /got --planned and --expect, expected one/],
  ["route FILE --planned --ops", 2, /got --planned and --ops, expected one/],
  ["passes FILE --precision bf16", 2, /--precision: got bf16, expected f32, mixed or f16/],
  ["graph FILE --precision f16", 2, /--precision: got f16 for coreml, expected f32 [^]*--profile exact/],
  ["route FILE --mlx --expect ane>=0.5", 2, /got --mlx and --expect, expected one/],
  ["route FILE --mlx --planned", 2, /got --planned and --mlx, expected one/],
  ["route FILE --mlx --chip m4", 2, /where to run: got --mlx and --chip, expected one/],
  ["inspect FILE --key general.name --tensors", 2, /got --key and --tensors, expected one/],
  ["assert-residency FILE --min-ane 2", 2, /--min-ane: got 2, expected a number from 0 to 1/],
  ["inspect FILE --context 99999999999", 2, /--context: got 99999999999, expected a whole number from 1 to 16777216/],
  ["inspect FILE --sample", 2, /the model: got \S+ and --sample, expected one/],
  ["route --deep --demo", 2, /the model: got --deep and --demo, expected one/],
  ["score FILE --ids 1,2 --text abc", 2, /the text: got --ids and --text, expected one/],
  ["tokenize FILE --text abc --text-file DIR/text.txt", 2, /the text: got --text and --text-file, expected one/],
  ["profile FILE --trace DIR/none/x.json", 2, /--trace: the folder \S+none does not exist/],
  ["profile FILE --trace DIR", 2, /--trace: got the folder/],
  ["profile FILE --trace FILE", 2, /--trace: \S+ exists and is no trace/],
  ["profile FILE --perfetto FILE", 2, /--perfetto: \S+ exists and is no trace/],
  ["profile FILE --save FILE", 2, /--save: \S+ exists and is no recording/],
  ["profile FILE --by colour", 2, /--by: got colour, expected op or layer/],
  ["profile FILE --compare DIR/none.rlxtrace", 2, /got \S+none\.rlxtrace, expected a recording/],
  ["profile FILE --compare FILE", 2, /\[recording\] \S+: got something else, expected a recording/],
  ["profile --compare DIR/a.rlxtrace", 2, /--compare: got 1 recordings, expected two, or one and a file/],
  ["serve DIR/missing.gguf", 1, /\[missing\.gguf\] cannot open the file: there is no such file/],
  [
    "serve DIR",
    1,
    /got a folder with 3 GGUF files, expected a model Name one of them: mixture\.gguf, not\.gguf, slow\.gguf$/,
  ],
  ["serve --port 70000", 2, /--port: got 70000, expected a whole number from 0 to 65535/],
  ["inspect FILE --key no.such.key", 1, /"no\.such\.key" is not in this file/],
  ["run --prompt x DIR", 1, /got a folder with 3 GGUF files, expected a model Name one of them: /],
  ["run --prompt x docs", 1, /\[docs\] got a folder without a config\.json/],
  ...["inspect", "graph", "run -p x", "score --text abc", "compile"].flatMap((name) => [
    [`${name} DIR/missing.gguf`, 1, /\[missing\.gguf\] cannot open the file: there is no such file/] as const,
    [`${name} DIR/not.gguf`, 1, /\[not\.gguf\] not a GGUF: got/] as const,
  ]),
];

describe.skipIf(process.platform === "darwin")("without a Mac (this is one)", () => {
  it.concurrent.each([
    ["route FILE --planned", /Core ML exists on Macs only[^]*`rlx route` without --planned predicts it/],
    ["assert-residency FILE", /Core ML exists on Macs only[^]*`rlx route --expect` holds the prediction/],
    ["doctor --verify", /Core ML exists on Macs only[^]*Run it on a Mac\./],
  ])("%s says what else there is", async (line, says) => {
    const { code, out, err } = await command(line);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(says);
  });
});

describe("errors", () => {
  it.concurrent.each(ERRORS)("%s", async (line, code, says) => {
    const ended = await command(`${line} --json`);
    expect(ended).toMatchObject({ code, signal: null });
    const { error } = failure.parse(JSON.parse(ended.out));
    // The same words to people and to programs.
    expect(`${error.message} ${error.hint}`).toMatch(says);
    expect(ended.err).toBe(`error ${error.code}: ${error.message}\n  → ${error.hint}\n`);
  });

  it.skipIf(process.platform === "darwin").each(["bench", "profile"])(
    "offer %s no simulator (not where this is a Mac)",
    async (name) => {
      const { code, err } = await command(`${name} FILE --device coreml`);
      expect(code).toBe(1);
      expect(err).toMatch(/Core ML exists on Macs only[^]*→ Measure on cpu or mlx\.\n/);
    },
  );

  it("name the variable that names an addon", async () => {
    for (const place of ["/nope", join(folder, "text.txt")]) {
      const { code, err } = await rlx(words("run FILE -p x"), { home, env: { RLX_ADDON: place } });
      expect(code).toBe(1);
      expect(err).toMatch(/error ENV_NO_ADDON[^]*→ RLX_ADDON names it: /);
    }
  });

  it("are none of a small model where no addon was built: the reference answers, and says so where people read", async () => {
    const env = { RLX_ADDON: "off" };
    const people = await rlx(words("run --sample -p hello -n 2"), { home, env });
    expect(people).toMatchObject({
      code: 0,
      err: expect.stringMatching(/TypeScript reference[^]*A token takes ~10\.\d – 65\.\d ms/),
    });
    const program = await rlx(words("score --sample --ids 390,389,263 --json"), { home, env });
    expect(program).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(program.out)).toHaveProperty("reference.secondsPerToken.truth", "predicted");
    const doctor = await rlx(words("doctor"), { home, env });
    expect(doctor).toMatchObject({ code: 1, out: expect.stringMatching(/✗ Native engine: .*TypeScript reference/) });
    const measured = await rlx(words("bench --sample"), { home, env });
    expect(measured).toMatchObject({ code: 1, err: expect.stringContaining("error ENV_NO_ADDON") });
  });

  it("tell of a chat template that cannot be used, before a chat", async () => {
    const file = join(folder, "broken.gguf");
    await writeTinyGguf(file);
    const whole = await readFile(file, "latin1");
    await writeFile(file, whole.replace("{% for message in", "{% fro message in"), "latin1");
    const { out } = await command("inspect DIR/broken.gguf");
    expect(out).toMatch(/chat template +cannot be used/);
    expect(out).toMatch(/^! Its chat template cannot be used: .*\. Give the model plain text/m);
    expect((await command("inspect FILE")).out).toMatch(/chat template +yes/);
  });

  it("say what to do without a chat template", async () => {
    const whole = await readFile(slow, "latin1");
    const mute = whole.replace("tokenizer.chat_template", "tokenizer.none_template");
    await writeFile(join(folder, "mute.gguf"), mute, "latin1");
    expect((await command("chat DIR/mute.gguf -m the")).err).toMatch(/error INPUT_TEMPLATE[^]*→ `rlx run` completes/);
  });

  it("tell that nothing is cached where the folder is none, and answer all the same", async () => {
    const said = await rlx(words('run FILE -p "Once upon a" -n 1'), { home: join(folder, "text.txt") });
    expect(said.code).toBe(0);
    expect(said.err.match(/Nothing is cached: \S+text\.txt\/cache \(RLX_HOME\) is no folder/g)).toHaveLength(1);
  });

  it("say how many tokens are too many to score", async () => {
    const { code, err } = await command(`score FILE --ids ${"1,".repeat(1024)}1`);
    expect(code).toBe(1);
    expect(err).toMatch(/got 1025 tokens, expected at most 1024: [^]*in parts\./);
  });

  it("leave stdout empty without --json", async () => {
    expect(await command("inspect DIR/not.gguf")).toMatchObject({ code: 1, out: "" });
    expect(await command("inspect --nope")).toMatchObject({ code: 2, out: "" });
    const missing = expect.stringMatching(/argument missing[^]*→ `rlx run --help`/) as string;
    expect(await command("run FILE -p")).toMatchObject({ code: 2, out: "", err: missing });
  });

  it("tell an expectation that does not hold from one that does", async () => {
    const { code, out, err } = await command("route --demo --expect ane>=1 --json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ expectation: { held: false } });
    expect(err).toMatch(/ANE has \d+\.\d % of the work, expected ane>=1/);
  });
});
