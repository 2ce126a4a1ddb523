/**
 * Every command: its answers in both forms. The table documents the contract of the commands, and some of them run as
 * processes, too. Help, errors and ends have files of their own beside this one.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  bigEntry,
  boolEntry,
  numberEntry,
  numbersEntry,
  stringEntry,
  stringsEntry,
} from "../../formats/gguf/encode.ts";
import type { MetadataEntry } from "../../formats/gguf/values.ts";
import { commandFolder, SAMPLE } from "../../testing/commandFolder.ts";
import { writeDamaged } from "../../testing/damagedFile.ts";
import type { Ended } from "../../testing/rlxProcess.ts";
import { rlx } from "../../testing/rlx.ts";
import { rlxProcess } from "../../testing/rlxProcess.ts";
import { reasonNotFound } from "../../testing/skipping.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { findMlxEngine } from "../native/mlxAddon.ts";

const noMlx = reasonNotFound(findMlxEngine());
const { folder, home, words, command } = commandFolder();

const number = z.number();
const text = z.string();
const finite = z.number().refine(Number.isFinite);
const stats = z.object({ promptTokens: number, generated: number, contextUsed: number, contextSize: number });
const answer = z.object({
  text: text,
  device: z.literal("cpu"),
  truth: z.literal("measured"),
  reason: z.enum(["stop", "length", "cancelled", "context-full"]),
  stats,
});
const statistics = z.object({ tensor: text, min: finite, max: finite, mean: finite, std: finite, nans: z.literal(0) });
const seconds = z.object({ value: number, low: number, high: number, unit: z.literal("seconds") });
const device = z.object({ device: text, ops: number, workShare: number, seconds });
/** The fields of llama-bench's own `-o json`, old and new: all that llama.cpp's compare-llama-bench.py wants of a row. */
const llamaBench = z.strictObject({
  build_commit: text,
  build_number: number,
  cpu_info: text,
  gpu_info: text,
  backends: text,
  model_filename: text,
  model_type: text,
  model_size: number,
  model_n_params: number,
  n_batch: number,
  n_ubatch: number,
  n_threads: z.literal(2),
  type_k: text,
  type_v: text,
  cpu_mask: text,
  cpu_strict: z.boolean(),
  poll: number,
  n_gpu_layers: number,
  split_mode: text,
  main_gpu: number,
  no_kv_offload: z.boolean(),
  flash_attn: z.literal(-1),
  devices: z.literal("auto"),
  tensor_split: text,
  tensor_buft_overrides: text,
  embeddings: z.boolean(),
  no_op_offload: number,
  no_host: z.literal(false),
  use_direct_io: z.literal(false),
  n_cpu_moe: number,
  fit_target: number,
  fit_min_ctx: number,
  use_mmap: z.literal(true),
  load_mode: z.literal("mmap"),
  n_prompt: number,
  n_gen: number,
  n_depth: number,
  test_time: text.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  avg_ns: number.positive(),
  stddev_ns: number,
  avg_ts: number.positive(),
  stddev_ts: number,
  samples_ns: z.array(number).length(2),
  samples_ts: z.array(number).length(2),
});

/** A command, what its JSON holds (more is allowed), and what it says to people. */
const ANSWERS: readonly { readonly line: string; readonly json: z.ZodType; readonly says: RegExp }[] = [
  {
    line: "inspect FILE",
    json: z.object({
      title: z.literal("RLX Sample"),
      parameters: number,
      bitsPerWeight: number,
      mix: z.array(z.any()),
      routing: z.object({
        target: z.object({ context: z.literal(1024) }),
        truth: z.literal("predicted"),
        phases: z.tuple([
          z.object({ phase: z.literal("decode"), devices: z.array(device).min(2) }),
          z.object({ phase: z.literal("prefill"), devices: z.array(device).min(2) }),
        ]),
      }),
      whyNoRouting: z.null(),
    }),
    says: /RLX Sample +Q8_0[^]*Q8_0 +29[^]*Will it fit\?[^]*How fast\?[^]*\n +~[\d.]+ – [\d.]+ µs +On the Neural Engine: [^\n]*, 55 % to 85 % of 120 GB\/s\n[^]* together\n[^]*\nOn M4 with CPU \+ Neural Engine: ~[^]*\nCore ML, All units[^]*\nCPU [^]*\nMLX[^]*Where will it run\?[^]*\nANE +\d+ +\d+\.\d % +\d+\.\d %/,
  },
  {
    line: "inspect FILE --cache-type q8_0",
    json: z.object({
      forecasts: z.tuple([z.object({ title: z.literal("CPU") })], z.object({ title: text })),
      verdict: z.object({ rows: z.array(z.object({ title: text })) }),
    }),
    says: /Will it fit\? \([^\n]*, CPU, context [^]*KV cache: [^\n]* × 1\.0625 B\n/,
  },
  {
    line: "inspect FILE --metadata general.name",
    json: z.tuple([z.object({ key: z.literal("general.name"), type: z.literal("string"), preview: text })]),
    says: /general\.name +string +RLX Sample/,
  },
  { line: "inspect FILE --key general.name", json: z.literal("RLX Sample"), says: /^RLX Sample\n$/ },
  {
    line: "inspect --tensors FILE",
    json: z.array(z.object({ name: text, type: text, shape: z.array(number), bytes: number })).length(46),
    says: /token_embd\.weight +Q8_0 +1024 × 256 +279 KB/,
  },
  {
    line: "graph FILE --backend cpu --stage built",
    json: z.object({ nodeCount: number.positive() }),
    says: /^graph "qwen3" \{\n[^]*linear\([^]*\}\n$/,
  },
  {
    line: "graph FILE --mil --phase prefill",
    json: z.object({ title: z.string().startsWith("MIL for M4"), mil: z.string().startsWith("program(1.0)\n{") }),
    says: /^program\(1\.0\)\n[^]*func prefill<ios18>[^]* = linear\([^]*\n\}\n$/,
  },
  {
    line: "passes FILE",
    json: z.object({
      passes: z.array(z.object({ name: text, opsBefore: number, reason: text })).length(6),
      steps: z
        .array(
          z.object({
            name: text,
            counts: text,
            ops: number,
            hops: number,
            aneShare: number,
            seconds: z.object({ value: number.positive() }),
            says: text,
            details: z.array(z.object({ name: text, what: text, count: number, why: text })),
          }),
        )
        .min(5)
        .refine(
          (steps) =>
            steps
              .slice(-4)
              .map(({ name }) => name)
              .join() === "legalise,legal,segment,mil",
        ),
    }),
    says: /dead code +\d+ → \d+[^]*legal +\d+ → \d+/,
  },
  {
    line: "passes FILE --steps --backend cpu",
    json: z.object({ steps: z.array(z.object({ counts: text, hops: z.null() })).min(4) }),
    says: /As built [^]*Legalise +\d+ [^]*Decompose +\d+ [^]*Plan +instructions +\d+ /,
  },
  {
    line: "passes FILE --bisect ops",
    json: z.object({ step: z.literal("legal"), seen: z.array(z.object({ name: text, value: number })).min(2) }),
    says: /^The number of ops is \d+ [^\n]+ and \d+ once decomposed\. \d+ steps of \d+ looked at\.\n$/,
  },
  {
    line: "bisect FILE --watch ops",
    json: z.object({ step: z.literal("legal") }),
    says: /^The number of ops is \d+ [^\n]+ and \d+ once decomposed\. /,
  },
  {
    line: "bisect DIR/fit.rlx --precision f16 --tolerance 1e-8 --input x=1,2,3,4,5,6.3 --input y=2,7",
    json: z.object({
      device: z.literal("cpu"),
      step: z.literal("precision f16"),
      steps: z.array(z.object({ name: text, nodes: number, hits: number, change: number, error: number })).min(2),
    }),
    says: /^The result changes after “precision f16”, by [^]*built +\d+ +0 +none/,
  },
  {
    line: "bisect DIR/fit.rlx --device coreml-sim",
    json: z.object({ device: z.literal("coreml-sim"), steps: z.array(z.object({ name: text })).min(1) }),
    says: /^No pass changes the result[^]*built +\d+ +0 +none/,
  },
  {
    line: "graph FILE --mil --find silu",
    json: z.object({
      query: z.literal("silu"),
      total: number.positive(),
      found: z.array(z.object({ line: number, text: z.string().regex(/silu/i) })).min(1),
    }),
    says: /^ *\d+  [^\n]*silu/i,
  },
  {
    line: "graph FILE --backend cpu --plan",
    json: z.object({ title: z.literal("Plan for CPU"), plan: text }),
    says: /^iota +iota +positions\n[^]*attention_block +attention_block +blk\.0\/attention\n/,
  },
  {
    line: "diff FILE --units cpu-ane --b-units all",
    json: z.object({
      same: z.literal("file"),
      sentences: z.array(text).min(2).max(6),
      routing: z.object({
        moved: number.positive(),
        a: z.object({ hops: number }),
        b: z.object({ hops: z.literal(0) }),
      }),
      numbers: z.array(z.object({ label: text, better: z.enum(["a", "b"]).nullable() })).min(6),
      speed: z.null(),
    }),
    says: /^1\. B is predicted to take less time for a token, [^]*How many times less is not said[^]*Runs elsewhere\n[^]*Predicted time by op\n/,
  },
  {
    line: "report FILE --backend cpu --markdown",
    json: z.object({ markdown: text }),
    says: /^\*\*RLX Sample Q8_0\*\* on CPU, decode\n[^]*\| runs on \|[^]*- header hash: [0-9a-f]{32}\n/,
  },
  {
    line: "route FILE --backend cpu",
    json: z.object({
      backend: z.literal("cpu"),
      hops: z.array(z.any()).length(0),
      segments: z.array(z.any()).length(1),
    }),
    says: /^the CPU engine, M4[^\n]*\(predicted\)\nEverything runs on the CPU, by our own engine: no hops\.[^]*CPU +\d+ +~[\d.]+ µs +100\.0 %/,
  },
  {
    line: "graph FILE --backend cpu --stage built --precision mixed",
    json: z.object({ key: z.object({ stage: z.object({ precision: z.literal("mixed") }) }) }),
    says: /cast\(%\d+\) \{to: "f16"\}[^]*rms_norm\([^\n]* : f32\[T,256\][^]*linear\([^\n]* : f16\[T,256\]/,
  },
  {
    line: 'graph FILE --backend cpu --stage "fuse norm" --precision f16',
    json: z.object({
      key: z.object({ stage: z.object({ step: z.literal("fuse norm"), precision: z.literal("f16") }) }),
    }),
    says: /linear_block\([^\n]* : f16\[T,256\], f16\[T,128\]/,
  },
  {
    line: "passes FILE --backend cpu --precision mixed",
    json: z.object({ precision: z.literal("mixed"), passes: z.array(z.object({ opsBefore: number.min(100) })) }),
    says: /common subexpressions +\d+ → \d+ +26[^]*fuse attention: not at /,
  },
  {
    line: "route --demo --ops",
    json: z.object({
      truth: text,
      devices: z.array(device).min(2),
      segments: z.array(z.object({ seconds })),
      step: seconds,
      verdict: z.object({ sentence: text }),
      sentence: text,
    }),
    says: /^M4 family · macOS 15[^]*HOST +3[^]*\na step +~[\d.]+ ms +100\.0 %[^]*host +~[\d.]+ µs +\d+\.\d+ %/,
  },
  {
    line: "route FILE --ops",
    json: z.object({
      nodes: z.object({ lowering: z.array(number).min(100) }),
      lowerings: z
        .array(z.object({ operations: number, groups: z.array(z.object({ device: text })), follows: text }))
        .min(3),
    }),
    says: /attention_cached[^\n]*\n +1 of \d+ MIL ops +cpu +~[\d.]+ [µm]s +[\d.]+ % +less: The Neural Engine has no int32[^\n]*\n +1 of \d+ MIL ops +cpu +~[\d.]+ [µm]s +[\d.]+ % +cast: /,
  },
  {
    line: "route --header-only --chip m5 --units cpu --expect cpu>=1",
    json: z.object({
      target: z.object({ chip: z.literal("m5"), units: z.literal("cpu") }),
      expectation: z.object({ device: z.literal("cpu"), least: z.literal(1), held: z.literal(true) }),
    }),
    says: /\nOn M5 with CPU only: ~\d+–\d+ t\/s\.[^]*\nCPU +\d+ +~[\d.]+ ms +100\.0 %/,
  },
  {
    line: "route FILE --mlx --context 64",
    json: z.object({
      counts: z.object({ native: number.positive(), decomposed: z.literal(0), unsupported: z.literal(0) }),
      nodes: z.object({ state: z.array(number).min(100), reason: z.array(number).min(100) }),
      weights: z.array(z.object({ type: z.enum(["q8_0", "f32"]), kind: z.enum(["exact", "same"]) })).length(2),
      whyNoTime: text,
    }),
    says: /^MLX runs all \d+ ops\.[^]*linear +29 +native +MLX runs[^]*Q8_0 +29 +affine, 8 bits.* exact\n[^]*No time: /,
  },
  {
    line: "route --demo --mlx --ops",
    json: z.object({ counts: z.object({ unsupported: z.literal(1) }), weights: z.array(z.any()).length(0) }),
    says: /^MLX cannot run 1 of[^]*custom +1 +unsupported[^]*\d+ +fft +fft +native +fft: MLX runs[^]*soft_threshold +unsupported/,
  },
  {
    line: "segments --demo",
    json: z.object({ segments: z.array(z.object({ device: text, ops: number, why: text })).length(7) }),
    says: /HOST[^]*fft/,
  },
  {
    line: "compile FILE --dry-run -o DIR/dry.mlpackage",
    json: z.object({
      path: z.string().endsWith("dry.mlpackage"),
      taken: z.literal(false),
      forms: z.array(z.object({ source: text, form: text })).min(1),
    }),
    says: /It would go to .*dry\.mlpackage[^]*Q8_0 +fp16 +16\.000 +29/,
  },
  {
    line: "compile FILE --dry-run -o DIR/none/dry.mlpackage",
    json: z.object({ folderExists: z.literal(false), taken: z.literal(false) }),
    says: /! the folder \S+none does not exist: create it first, or choose another\n/,
  },
  {
    line: "compile FILE --dry-run -o DIR/taken.mlpackage",
    json: z.object({ taken: z.literal(true), folderExists: z.literal(true) }),
    says: /! .*taken\.mlpackage exists already: choose another name, or --overwrite/,
  },
  {
    line: "compile FILE -o DIR/sample.mlpackage --overwrite",
    json: z.object({ path: text, bytes: number, functions: z.array(text), weights: z.array(z.any()).length(46) }),
    says: /46 weights, largest error [^,]*, measured on all elements\.[^]*sample\.mlpackage: 5\.47 MB[^]*functions decode, prefill/,
  },
  {
    line: "convert FILE --dry-run --type f16 -o DIR/dry.gguf",
    json: z.object({
      path: z.string().endsWith("dry.gguf"),
      from: z.literal("GGUF 3"),
      parts: z.array(z.object({ tensors: z.literal(46) })).length(1),
      types: z.array(z.object({ from: text, to: text, tensors: number })).min(2),
    }),
    says: /in one file, \d\.\d\d × [^]*q8_0 +f16 +29 [^]*It would go to .*dry\.gguf\n/,
  },
  {
    line: "convert FILE --split-max-size 1M -o DIR/parts.gguf --overwrite",
    json: z.object({ paths: z.array(z.string().regex(/parts-0000\d-of-0000\d\.gguf$/)).min(2), bytes: number }),
    says: /0 of 46 tensors get another type\.\n.*parts-00001-of-0000\d\.gguf\n/,
  },
  {
    line: "quantize FILE --to q4_k_m -o DIR/small.gguf --overwrite --tensor-type *ffn_up*=q6_k",
    json: z.object({
      path: z.string().endsWith("small.gguf"),
      bitsPerWeight: number.max(9),
      tensors: z.array(z.object({ name: text, from: text, to: text, relativeRms: finite.min(0).max(0.2) })).length(46),
    }),
    says: /bits per weight\.[^]*q4_k[^]*Largest errors:[^]*ffn_/,
  },
  {
    line: "tensors FILE",
    json: z.array(z.object({ name: text, type: text, bytes: number })).length(46),
    says: /token_embd\.weight +Q8_0/,
  },
  {
    line: "tensors FILE --group layer",
    json: z.object({
      groups: z.array(z.object({ title: text, tensors: number, bytes: number, bitsPerWeight: finite })).min(3),
      sum: z.object({ tensors: z.literal(46), heldBytes: z.null(), error: z.null() }),
    }),
    says: /group +tensors +parameters +bits +bytes\n[─ ]+\noutside of layers[^]*\nlayer 0 [^]*\n46 tensors, 2624256 parameters, [\d.]+ MB, [\d.]+ bits each\n/,
  },
  {
    line: "tensors FILE --for coreml --units cpu-ane --tensor attn_q",
    json: z.object({
      heldAs: text,
      sum: z.object({ heldBytes: number }),
      tensors: z.array(z.object({ held: z.object({ form: text, bytes: number }) })).min(5),
    }),
    says: /on device +held as\n[^]*fp16, unpacked[^]* on the device\nWeights of the program for /,
  },
  {
    line: "tensors FILE --against FILE",
    json: z.object({
      rows: z.array(z.object({ relative: z.literal(0), rmse: z.literal(0), decibels: z.null() })).length(46),
      left: z.array(z.never()),
      sum: z.object({ tensors: z.literal(46), relative: z.literal(0) }),
    }),
    says: /tensor +type +other +error +RMSE +largest +dB +cosine[^]*46 tensors, and no value differs from /,
  },
  {
    line: "tensors FILE --stats --tensor attn_norm",
    json: z.array(statistics.extend({ type: z.literal("F32"), scales: z.array(z.never()) })).min(4),
    says: /tensor +type +min +max +mean +std +zeros[^]*blk\.0\.attn_norm\.weight +F32/,
  },
  {
    line: "tensors FILE --tensor blk.0.attn_k.weight --against FILE",
    json: statistics.extend({
      tensor: z.literal("blk.0.attn_k.weight"),
      histogram: z.object({ counts: z.array(number).length(48) }),
      scales: z
        .array(z.object({ what: z.literal("scale"), count: z.literal(1024), notFinite: z.literal(0) }))
        .length(1),
      difference: z.object({ relative: z.literal(0), cosine: number.min(0.999999) }),
    }),
    says: /^blk\.0\.attn_k\.weight {2}Q8_0, 128 × 256\n[^]*histogram[^]*scale[^]*against [^]*relative error 0 %/,
  },
  {
    line: "tensors FILE --tensor blk.0.attn_k.weight --values 126:31",
    json: z.object({
      height: z.literal(128),
      width: z.literal(256),
      rows: z.literal(2),
      values: z.array(number).length(16),
    }),
    says: /^blk\.0\.attn_k\.weight[^]*rows 126 to 127[^]*\n126 /,
  },
  {
    line: "check FILE --against FILE",
    json: z.object({
      verdict: z.literal("sound"),
      tensors: z.literal(46),
      findings: z.array(z.never()),
      compared: z.array(z.object({ tensor: text, relative: z.literal(0) })).length(46),
    }),
    says: /Sound: 46 tensors, [^]*every value is a number\.\n/,
  },
  {
    line: "check DIR/fit.rlx",
    json: z.object({ diagnostics: z.array(z.never()), graph: z.object({ operations: z.literal(4) }) }),
    says: /^"fit" is sound: 4 operations, hash [0-9a-f]{32}\n[^]*input +x +f32\[N,3\]/,
  },
  {
    line: "fmt DIR/fit.rlx",
    json: z.object({ isFormatted: z.literal(true), diagnostics: z.array(z.never()) }),
    says: /^graph "fit" \{\n  %x = input : f32\[N,3\]\n/,
  },
  {
    line: "eval DIR/fit.rlx --input x=1,2,3,4,5,6 --input y=2,7",
    json: z.object({ outputs: z.tuple([z.object({ name: z.literal("loss"), dtype: z.literal("f32") })]) }),
    // (3 - 2)² + (7.5 - 7)²
    says: /loss +f32\[\] +1\.25 +the same/,
  },
  {
    line: "grad DIR/fit.rlx --wrt w",
    json: z.object({ text: text }),
    says: /^graph "fit gradient" \{[^]*return "gradient\.w" = %\d+\n\}\n$/,
  },
  {
    line: "vmap DIR/fit.rlx --size 2 --inputs x",
    json: z.object({ text: text }),
    says: /^graph "fit batched" \{\n  %0 = input "x" : f32\[2,N,3\]\n  %1 = input "y" : f32\[N,1\]\n/,
  },
  {
    line: "vmap DIR/fit.rlx --inputs x",
    json: z.object({ text: text }),
    // N are the points of the graph.
    says: /^graph "fit batched" \{\n  %0 = input "x" : f32\[B,N,3\]\n  %1 = input "y" : f32\[N,1\]\n/,
  },
  {
    line: "eval DIR/own.rlx --input x=0.4,1.6,2",
    json: z.object({ outputs: z.tuple([z.object({ name: z.literal("sum") })]) }),
    says: /sum +f32\[\] +4 +the same/,
  },
  {
    line: "grad DIR/own.rlx --wrt x",
    json: z.object({ text: text }),
    // The gradient of the sum as it is.
    // The rule hands the cotangent on, so the gradient is that of the sum.
    says: /%1 = custom_fn\(%0\)[^]*%6 = expand\(%5\)[^]*return "gradient\.x" = %6\n\}\n$/,
  },
  {
    line: "vmap DIR/own.rlx --size 2 --inputs x",
    json: z.object({ text: text }),
    says: /custom_fn\(%0\) : f32\[2,3\]/,
  },
  {
    line: "run DIR/fit.rlx --device coreml-sim --input x=1,2,3,4,5,6 --input y=2,7",
    json: z.object({ device: z.literal("coreml-sim"), outputs: z.tuple([z.object({ name: z.literal("loss") })]) }),
    says: /^Core ML, simulated: compiled in [^]*loss +f32\[\] +1\.25 +the same/,
  },
  {
    line: "bench DIR/fit.rlx --device cpu,mlx --repeats 2",
    json: z.object({ results: z.array(z.object({ device: text, times: z.array(number).length(2) })).length(2) }),
    says: /^device +compiled in [^]*\ncpu +[\d.]+ ms [^]*\nmlx /,
  },
  {
    line: "profile DIR/fit.rlx",
    json: z.object({ steps: z.array(z.object({ op: text, seconds: number })).min(3) }),
    says: /^CPU: compiled in [^]*linear[\w]* +[\d.e-]+ ms +[\d.]+ % +1\n/,
  },
  {
    line: "compile DIR/fit.rlx -o DIR/fit.mlpackage --overwrite --context 64",
    json: z.object({ sentence: z.string().includes("Made for N = 64;"), functions: z.tuple([z.literal("main")]) }),
    says: /Made for N = 64; N from the context, or a smaller limit in the text\.\n/,
  },
  {
    line: "compile DIR/fit.rlx -o DIR/fit8.mlpackage --overwrite --symbol N=8",
    json: z.object({ sentence: z.string().endsWith("Made for N = 8.") }),
    says: /Made for N = 8\.\n/,
  },
  {
    line: "route DIR/fit.rlx --context 64",
    json: z.object({ segments: z.array(z.object({ device: text })) }),
    says: /a step/,
  },
  {
    line: "new",
    json: z.object({ graphs: z.array(z.object({ id: text, text: text })).length(6) }),
    says: /^graph +what\n[^]*\nmamba-block +A /,
  },
  {
    line: "new lstm",
    json: z.object({ id: z.literal("lstm"), text: text }),
    says: /^\/\/ A sequence [^]* = lstm\(/,
  },
  {
    line: "ops softmax",
    json: z.object({
      ops: z.tuple([
        z.object({ name: z.literal("softmax"), support: z.array(z.object({ of: text, how: text })).length(5) }),
      ]),
    }),
    says: /^softmax +Exponentials [^]*\ncpu +native[^]*\nby numpy[^]*\n +0 +\S/,
  },
  {
    line: "ops add --graph 0",
    json: z.object({ text: text }),
    says: /^graph "add: [^"]*" \{\n[^]* = add\(%0, %1\)[^]*\}\n$/,
  },
  {
    line: "train",
    json: z.object({
      recipes: z.array(z.object({ id: text, defaults: z.object({ steps: number, lr: number }) })).min(4),
      devices: z.array(z.object({ id: text, available: z.boolean(), reason: text })).min(4),
      optimizers: z.array(z.object({ name: text })).length(15),
    }),
    says: /linear +Finds [^]*characters [^]*cpu +yes [^]*Optimisers: sgd, adam/,
  },
  {
    line: "train --runs",
    json: z.object({ runs: z.array(z.object({ run: text, state: text })), damaged: z.literal(0) }),
    says: /No run is kept|run +when +what/,
  },
  {
    line: "imatrix FILE --text-file DIR/text.txt --chunk 4 -o DIR/imatrix.gguf --overwrite",
    json: z.object({ path: z.string().endsWith("imatrix.gguf"), chunk: z.literal(4), weights: number.min(20) }),
    says: /^\d+ weights over \d chunks of 4 tokens\.\n[^]*imatrix\.gguf: /,
  },
  {
    line: 'run FILE -p "Once upon a" -n 6 --seed 1 --temperature 0',
    json: answer.extend({ reason: z.literal("length"), stats: stats.extend({ generated: z.literal(6) }) }),
    says: /time/,
  },
  {
    line: 'run FILE -p Once --grammar "root ::= [a-c]{4}" --seed 1 --mirostat 2 --dry-multiplier 1 --logit-bias 0=ban',
    json: answer.extend({
      text: z.string().regex(/^[a-c]{4}$/),
      reason: z.literal("stop"),
      sampling: z.object({ values: z.object({ mirostat: z.literal(2), topK: z.literal(40) }) }),
    }),
    says: /^[a-c]{4}\n/,
  },
  {
    line: "chat FILE -m Hello -m Bye --temperature 0",
    json: z.object({
      answers: z.array(answer.extend({ reason: z.literal("stop") })).length(2),
      messages: z.array(z.object({ role: text, content: text })).length(4),
    }),
    says: /Hello[^]*\n.*ye/,
  },
  {
    line: "score FILE --text-file DIR/text.txt",
    json: z.strictObject({
      tokens: z.array(number).min(8),
      logprobs: z.tuple([z.null()], finite.max(0)),
      perplexity: finite.min(1),
      reference: z.null(),
    }),
    says: /"Once" *\n[^]*" upon" +-\d\.\d{5}\n[^]*perplexity \d/,
  },
  {
    line: "score --sample --ids 390,389,263",
    json: z.strictObject({
      tokens: z.tuple([z.literal(390), z.literal(389), z.literal(263)]),
      logprobs: z.tuple([z.null(), finite.max(0), finite.max(0)]),
      perplexity: finite.min(1),
      reference: z.null(),
    }),
    says: /perplexity .* over 2 tokens/,
  },
  {
    // A file is not far from itself, and is no faster.
    line: "choose FILE --also FILE --text-file DIR/text.txt --no-speed",
    json: z.strictObject({
      tokens: number,
      textTokens: number,
      rows: z.tuple([
        z.looseObject({ divergence: z.null(), sameTop: z.null(), decode: z.null() }),
        z.looseObject({
          divergence: z.strictObject({
            mean: z.literal(0),
            error: z.literal(0),
            median: z.literal(0),
            high: z.literal(0),
          }),
          sameTop: z.literal(1),
          close: z.literal(true),
        }),
      ]),
      taken: z.null(),
      sentence: z.literal("No speed was measured."),
      red: z.tuple([]),
    }),
    says: /reference[^]*0\.0000 ± 0\.0000 +100\.0 %[^]*Over \d+ tokens\. No speed was measured\./,
  },
  {
    line: "experts DIR/mixture.gguf --ids 0,1,1,3,1",
    json: z.strictObject({
      tokens: z.literal(5),
      layers: z.tuple([
        z.strictObject({
          layer: z.literal(0),
          counts: z.tuple([z.literal(1), z.literal(3), z.literal(0), z.literal(1)]),
        }),
        z.strictObject({ layer: z.literal(1), counts: z.array(number).length(4) }),
      ]),
      reference: z.null(),
    }),
    says: /^ +0 +3 of 4 +1 \(60 %\), 0 \(20 %\), 3 \(20 %\) +\|▒█ ▒\|\n[^]*5 tokens read/m,
  },
  {
    // Every letter follows itself: the tokens are a, b, d, d, d.
    line: "run DIR/mixture.gguf -p abd -n 2 --temperature 0 --experts",
    json: z.object({
      text: z.literal("dd"),
      experts: z.strictObject({
        tokens: z.literal(5),
        layers: z.tuple([
          z.strictObject({
            layer: z.literal(0),
            counts: z.tuple([z.literal(1), z.literal(1), z.literal(0), z.literal(3)]),
          }),
          z.strictObject({
            layer: z.literal(1),
            counts: z.tuple([z.literal(3), z.literal(0), z.literal(1), z.literal(1)]),
          }),
        ]),
      }),
    }),
    says: /^dd\n[^]*^ +0 +3 of 4 +3 \(60 %\), 0 \(20 %\), 1 \(20 %\) +\|▒▒ █\|$[^]*5 tokens read/m,
  },
  {
    line: "template FILE --conversation tools --tokens",
    json: z.object({
      text: text,
      tokens: z.array(z.object({ id: number, text: text, isSpecial: z.boolean() })).min(20),
      abilities: z.array(z.object({ id: text, state: z.enum(["written", "left-out"]) })).length(11),
      roundTrip: z.object({ state: z.literal("left-out") }),
      against: z.null(),
    }),
    says: /^Tools, \d+ tokens:[^]*1022 +"<\|im_start\|>" +special[^]*^Tools +left out +The model is not told/m,
  },
  {
    line: "tokenize FILE --text-file DIR/text.txt",
    json: z.strictObject({ tokens: z.array(number).min(8), pieces: z.array(text).min(8) }),
    says: /^\d+ +"Once"$/m,
  },
  {
    line: "bench FILE --pp 8 --tg 4 -r 2 --threads 2",
    json: z.tuple([
      llamaBench.extend({ n_prompt: z.literal(8), n_gen: z.literal(0) }),
      llamaBench.extend({ n_prompt: z.literal(0), n_gen: z.literal(4) }),
    ]),
    says: /pp 8 +\S+ tok\/s[^]*tg 4 +\S+ tok\/s/,
  },
  {
    line: "bench FILE -p 4,8 -n 0 -d 0,16 -t 1-2 -r 1 --warmup 0 -o json",
    json: z.object({
      format: z.literal("rlx-bench"),
      subjects: z.tuple([z.object({ threads: z.literal(1) }), z.object({ threads: z.literal(2) })]),
      tests: z.array(z.object({ test: z.literal("pp"), samples: z.array(number).length(1) })).length(8),
    }),
    says: /"format": "rlx-bench"/,
  },
  {
    line: "bench FILE FILE --decide 20 -p 8 -n 0 -t 1 --warn -o json",
    json: z.object({
      subjects: z.tuple([z.any(), z.any()]),
      tests: z.tuple([z.any(), z.object({ decision: z.enum(["clear", "even", "open"]) })]),
    }),
    says: /"decision": "/,
  },
  {
    line: "bench FILE -p 8 -n 0 -r 2 --threads 2 --cache-type q4_0",
    json: z.tuple([llamaBench.extend({ type_k: z.literal("q4_0"), type_v: z.literal("q4_0") })]),
    says: /, q4_0 cache\n[^]*pp 8 +\S+ tok\/s/,
  },
  {
    line: "profile FILE --pp 4 --tg 2 --trace DIR/trace.json",
    json: z.object({ truth: z.literal("measured"), decode: z.object({ rows: z.array(z.any()).min(5) }) }),
    says: /Not recorded: GPU [^]*Reading the prompt: .* a token, over 4 tokens[^]*linear[^]* GB\/s +(?:\d\d? %|100 %|cache)\n[^]*Writing: .* the middle one of 2 written tokens by time; .* until the next\n[^]*time, one token/,
  },
  {
    line: "compiles",
    json: z.object({ estimate: z.null(), changed: z.null(), rows: z.array(z.never()), damaged: z.literal(0) }),
    says: /Core ML/,
  },
  {
    line: "models",
    json: z.object({
      models: z.array(z.object({ name: text, path: text, bytes: number })),
      places: z.array(z.object({ folder: text })),
      complete: z.literal(true),
    }),
    says: /^(?:No models were found on this machine\.|name +type +size +where +path)\n/,
  },
  {
    line: "settings appearance dark",
    json: z.object({
      preferences: z.object({ appearance: z.literal("dark"), memoryLimit: z.null(), modelFolders: z.array(text) }),
      file: z.string().endsWith("settings.json"),
      problem: z.null(),
    }),
    says: /^appearance +dark\nfirst-subject +advise\nmemory-limit +none\n[^]*\nKept in .*settings\.json\. The data folder in use is /,
  },
  {
    line: "doctor",
    json: z.object({ checks: z.array(z.object({ title: text, state: text, sentence: text })).min(5) }),
    says: /✓ Native engine: /,
  },
];

describe("answers", () => {
  it.concurrent.each(ANSWERS)("$line", async ({ line, json, says }) => {
    // One after the other: both may write the same file.
    const plain = await command(line);
    expect(plain).toMatchObject({ code: 0 });
    expect(plain.out).toMatch(says);
    // A log needs no rewritten lines and no trailing spaces.
    expect(plain.out + plain.err).not.toMatch(/\r| \n|undefined|NaN|\[object/);
    const machine = await command(`${line} --json`);
    expect(machine).toMatchObject({ code: 0, err: "" });
    json.parse(JSON.parse(machine.out));
  });

  it("of a training are a line of JSON for each item, and its weights", async () => {
    const { code, out } = await command("train linear --steps 50 -o DIR/line.safetensors --overwrite --json");
    expect(code).toBe(0);
    const items = out
      .trim()
      .split("\n")
      .map((line) => z.object({ kind: text }).loose().parse(JSON.parse(line)));
    expect(items.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["started", "steps", "norms", "saved", "done"]),
    );
    expect(items.at(-1)).toMatchObject({ state: "done", steps: 50, results: [{ what: "weights" }] });
    const header = await readFile(join(folder, "line.safetensors"), "latin1");
    expect(header).toContain('"W":{"dtype":"F32","shape":[3,1]');
  });

  it("of a training in few bits say what they cost", async () => {
    const line =
      "train digits --steps 12 --batch 8 --field images=100 --field channels=2 --quantize 4,8 --quantize-after 8";
    const { code, out } = await command(line);
    expect(code).toBe(0);
    expect(out).toMatch(
      /step 8: weights in 4 bits, activations in 8: validation loss in floats [\d.]+, [\d.]+ % right; calibrated [\d.]+, [\d.]+ % right; trained on [\d.]+, /,
    );
  });

  it("find models in the folders that were added, and forget a folder", async () => {
    const { folders } = z
      .object({ folders: z.array(text) })
      .parse(JSON.parse((await command("models add DIR --json")).out));
    expect(folders).toEqual([folder]);
    const { out } = await command("models");
    expect(out).toMatch(/^slow +\S* +[\d.]+ MB .*slow\.gguf$/m);
    expect(out).toMatch(/^not\.gguf .* damaged|^! not/m);
    expect((await command("models remove DIR")).out).toBe("No folders of yours are looked in.\n");
    await command("settings find-models off");
    expect((await command("models")).out).toMatch(/^No models were found: .*not looked in/u);
    await command("settings find-models on");
  });

  it("give as many pieces as tokens, and leave special ones out when told", async () => {
    const tiny = (extra: string) => command(`tokenize FILE --text Hello --json${extra}`);
    for (const extra of ["", " --no-special"]) {
      const { tokens, pieces } = JSON.parse((await tiny(extra)).out) as { tokens: number[]; pieces: string[] };
      expect(pieces.length).toBe(tokens.length);
      expect(pieces.join("")).toBe("Hello");
    }
  });

  it("write the bytes of half a character as bytes", async () => {
    const { pieces } = JSON.parse((await command("tokenize FILE --text 日 --json")).out) as { pieces: string[] };
    expect(pieces).toEqual(["<0xE6>", "<0x97>", "<0xA5>"]);
  });

  it.each(["route FILE", "segments FILE", "route FILE --context 4096 --units cpu-gpu"])(
    "name the target that the numbers of %s are for, not the one that was asked for",
    async (line) => {
      const said = z.object({ target: z.object({ context: number, profile: text, units: text }), targetTitle: text });
      const { target, targetTitle } = said.parse(JSON.parse((await command(`${line} --json`)).out));
      expect(target).toMatchObject({ context: 1024 });
      const weights = target.profile === "ane" ? "f16" : "packed";
      expect(targetTitle).toContain(`${weights} weights · 1024 tokens`);
    },
  );

  it("name the context of a legal graph", async () => {
    const said = z.object({ key: z.object({ stage: z.object({ target: z.object({ context: z.literal(1024) }) }) }) });
    said.parse(JSON.parse((await command("graph FILE --json")).out));
    const { key } = said.parse(JSON.parse((await command("route FILE --json")).out));
    expect(key.stage.target.context).toBe(1024);
  });

  it("write numbers for the nodes of a graph that name its ops, and no file twice", async () => {
    const line = "graph FILE --node-data DIR/nodes.json --by bytes";
    const said = z.object({ path: text, by: z.literal("bytes"), truth: text, basis: text });
    const { path } = said.parse(JSON.parse((await command(`${line} --json`)).out));
    const results = z.record(z.string(), z.object({ value: number.min(0), name: text }));
    const file = z.record(z.string(), z.object({ results, gradient: z.array(z.unknown()).length(5) }));
    const [graph] = Object.values(file.parse(JSON.parse(await readFile(path, "utf8"))));
    const entries = Object.values(graph?.results ?? {});
    expect(entries.find(({ name }) => name === "blk.0/ffn/down")?.value ?? 0).toBeGreaterThan(0);
    expect(await command(line)).toMatchObject({
      code: 2,
      err: expect.stringContaining("a file that is there") as string,
    });
  });

  it("say once why there is no graph, run and export, and tell what the file says of itself", async () => {
    await writeTinyGguf(join(folder, "experts.gguf"), { architecture: "grok", experts: 8 });
    const { code, out } = await command("inspect DIR/experts.gguf");
    expect(code).toBe(0);
    expect(out.match(/mixture of experts/g)).toHaveLength(1);
    expect(out).toMatch(/^experts +8\ncontext +4096$/m);
    expect(out).toMatch(/\n\nNo graph, run, export: Use a model of another architecture: /);
    const machine = await command("inspect DIR/experts.gguf --json");
    expect(JSON.parse(machine.out)).toMatchObject({
      routing: null,
      whyNoRouting: expect.stringContaining("mixture of experts") as string,
    });
    // Its blocks are shown in place of a graph.
    expect(out).toMatch(/^blk\.0 to blk\.1 \(2 equal blocks\) .*\n {2}attn_norm\.weight +F32 +64 /m);
    const graph = await command("graph DIR/experts.gguf");
    expect(graph).toMatchObject({ code: 0, err: expect.stringContaining("mixture of experts") as string });
    expect(graph.out).toMatch(/^ {2}ffn_down\.weight +F32 +64 × 128 /m);
    expect((await command("tokenize DIR/experts.gguf --text the")).out).toMatch(/256 +"th"/);
    // Also where there would be something else to say: more tokens than it has positions for.
    expect(await command("bench DIR/experts.gguf --pp 5000")).toMatchObject({
      code: 1,
      err: expect.stringContaining("mixture of experts") as string,
    });
  });

  it("give the value of a key in its own type, and as text what JSON has no exact number for", async () => {
    const safe = 2n ** 53n - 1n;
    const cases: readonly (readonly [entry: MetadataEntry, json: unknown, says: string])[] = [
      [numberEntry("t.whole", "i32", -7), -7, "-7"],
      [numberEntry("t.float", "f32", 1e-6), 1e-6, "0.000001"],
      [numberEntry("t.infinite", "f32", Infinity), "Infinity", "Infinity"],
      [boolEntry("t.no", false), false, "false"],
      [stringEntry("t.digits", "12"), "12", "12"],
      [bigEntry("t.safe", "u64", safe), Number(safe), String(safe)],
      [bigEntry("t.big", "u64", safe + 1n), "9007199254740992", "9007199254740992"],
      [numbersEntry("t.bigs", "i64", [-safe - 1n, 5n]), ["-9007199254740992", 5], "-9007199254740992\n5"],
      [numbersEntry("t.floats", "f64", [0.1, 1e300, NaN]), [0.1, 1e300, "NaN"], "0.1\n1e+300\nNaN"],
      [numbersEntry("t.flags", "bool", [1, 0]), [true, false], "true\nfalse"],
      [stringsEntry("t.words", ["1", "true"]), ["1", "true"], "1\ntrue"],
    ];
    await writeTinyGguf(join(folder, "keys.gguf"), { keys: cases.map(([entry]) => entry) });
    for (const [{ key }, json, says] of cases) {
      const line = `inspect DIR/keys.gguf --key ${key}`;
      expect(JSON.parse((await command(`${line} --json`)).out), key).toEqual(json);
      expect((await command(line)).out, key).toBe(`${says}\n`);
    }
  });

  it("say that a file's text cannot be read, and score its ids all the same", async () => {
    await writeTinyGguf(join(folder, "unread.gguf"), { pre: "nobody-knows" });
    const { out } = await command("inspect DIR/unread.gguf");
    expect(out).toMatch(
      /^! It cannot read or write text here: the pre-tokenizer "nobody-knows" is not known\. .*--ids/m,
    );
    const scored = await command("score DIR/unread.gguf --ids 1,2,3 --json");
    expect(scored).toMatchObject({ code: 0, err: "" });
    const plain = await command("score DIR/unread.gguf --ids 1,2,3");
    expect(plain).toMatchObject({ code: 0 });
    expect(plain.out).toMatch(/^id +log-probability\n/);
    expect(await command("score DIR/unread.gguf --text the")).toMatchObject({ code: 1, out: "" });
    expect((await command("inspect FILE")).out).not.toContain("cannot read");
  });

  it("count one as one", async () => {
    expect((await command("route FILE --units cpu")).out).toContain("Everything runs in one segment on the CPU.\n");
    expect((await command("score FILE --ids 1,2")).out).toMatch(/over 1 token\n/);
  });

  it("tell the time of a step of the phase that is asked for", async () => {
    expect((await command("route FILE --phase prefill")).out).toMatch(
      /: ~.+ a chunk of \d+ tokens?, prefill\. \d+ % of each/,
    );
    expect((await command("route FILE --phase decode")).out).not.toContain("prefill");
  });

  const tells = async (line: string, backend: string): Promise<void> => {
    const env = { RLX_VERBOSE: "1", RLX_DISPATCH_REPORT: "1" };
    const { code, err, out } = await rlx(words(`${line} --json`), { home, env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toBeTypeOf("object");
    expect(err).toMatch(/^pass dead code: \d+ -> \d+ nodes, \d+ hits, /m);
    // Each pass, and each was looked at by the verifier.
    expect((err.match(/^pass .*$/gm) ?? []).filter((said) => !said.endsWith(" ms, verified"))).toEqual([]);
    const named = err.match(/^compile for .*$/gm) ?? [];
    expect(new Set(named).size).toBe(named.length);
    expect(named.length).toBe(err.match(/^dispatch for /gm)?.length);
    if (line.startsWith("compile")) expect(named).toContain("compile for coreml: function prefill of the package");
    expect(err).toMatch(new RegExp(`^dispatch for ${backend}: \\d+ native, \\d+ decomposed, `, "m"));
    expect(err).toMatch(/^ +\d+ native +gather: /m);
    expect((await rlx(words(`${line} --json`), { home })).err).toBe("");
  };
  it.each([
    ["route FILE", "coreml"],
    ["compile FILE -o DIR/told.mlpackage --overwrite", "coreml"],
    ["run FILE -p Once -n 1", "cpu"],
  ])("tell on stderr what the compile of %s did, when that was asked for", tells);
  it.skipIf(noMlx)(`tell what the compile for MLX did, too ${noMlx ?? ""}`, () =>
    tells("run FILE -p Once -n 1 --device mlx", "mlx"),
  );

  it.each([
    ["RLX_COREML_HOST_DEQUANT=1", "compile FILE --units cpu-gpu --dry-run", /^Q8_0 +fp32 +32\.000/m],
    ["RLX_COREML_HOST_DEQUANT=0", "compile FILE --units cpu-gpu --dry-run", /^Q8_0 +int8, fp16 scale per 32 +8\.500/m],
    ["RLX_COREML_NATIVE_FLEX=1", "compile DIR/fit.rlx --dry-run", /UNSUPPORTED_TARGET: \[flexible\] a graph in text/],
    ["RLX_COREML_UNITS=all", "route FILE", /· All units ·/],
    ["RLX_KERNEL_DISPATCH=force-common", "route FILE --mlx", /^rope +8 +decomposed +Common rules/m],
    ["RLX_KERNEL_DISPATCH=force-common", "route FILE", /this route and packages are Core ML's/],
    [
      "RLX_KERNEL_DISPATCH=force-common",
      "run FILE -p Once -n 1",
      /^dispatch for cpu: \d+ native, [1-9]\d* decomposed, /m,
    ],
    ["RLX_CPU_WEIGHTS=mapped", "doctor", /weights: read where the file is mapped \(RLX_CPU_WEIGHTS\)/],
    ["RLX_CPU_WEIGHTS=foo", "doctor", /got "foo", expected one of auto, mapped, copied/],
    ["RLX_KERNEL_DISPATCH=foo", "run FILE -p Once -n 1", /got "foo", expected one of prefer-native, /],
  ])("do as %s says", async (setting, line, says) => {
    const [name = "", value = ""] = setting.split("=");
    const { out, err } = await rlx(words(line), { home, env: { RLX_DISPATCH_REPORT: "1", [name]: value } });
    expect(out + err).toMatch(says);
  });

  it("take the sample when no file is named", async () => {
    const { code, out } = await command('run -p "Once upon a" -n 2 --temperature 0');
    expect({ code, out: out.trim() }).toMatchObject({ code: 0, out: expect.stringContaining("time") as string });
  });

  it("write a trace that other programs open", async () => {
    await command("profile FILE --pp 4 --tg 2 --trace DIR/trace.json");
    const { traceEvents } = JSON.parse(await readFile(join(folder, "trace.json"), "utf8")) as {
      traceEvents: { ph: string; ts?: number; dur?: number }[];
    };
    const slices = traceEvents.filter(({ ph }) => ph === "X");
    expect(slices.length).toBeGreaterThan(20);
    for (const { ts, dur } of slices) expect((ts ?? -1) >= 0 && (dur ?? -1) >= 0).toBe(true);
  });

  it("keep recordings, show them again without a model, and compare them", async () => {
    await command("profile FILE --pp 4 --tg 3 --save DIR/a.rlxtrace");
    const said = await command("profile FILE --pp 4 --tg 3 --save DIR/b.rlxtrace --compare DIR/a.rlxtrace");
    expect(said.out).toMatch(
      /^First: .* on cpu, [^]*\nSecond: [^]*A token of the second takes .* That says little: only 2 tokens of one of them count\./,
    );
    const again = await command("profile DIR/a.rlxtrace --by layer");
    expect(again.out).toMatch(/A typical token spends [^]*layer +times[^]*block 0/);
    const both = await command("profile --compare DIR/a.rlxtrace DIR/b.rlxtrace --perfetto DIR/both.zip --json");
    const { comparison } = z
      .object({
        recordings: z.array(z.any()).length(2),
        comparison: z.object({ differences: z.array(z.any()).min(5) }),
      })
      .parse(JSON.parse(both.out));
    expect(comparison.differences.length).toBeGreaterThan(4);
    expect((await readFile(join(folder, "both.zip"), "latin1")).slice(30, 52)).toBe("perfetto_manifest.json");
    // What is there is a trace, and may be written again.
    expect(await command("profile DIR/a.rlxtrace --perfetto DIR/both.zip")).toMatchObject({ code: 0 });
  });

  it("say of a simulator's answers that they are simulated, in each form", async () => {
    const run = 'run FILE -p "Once" -n 3 --temperature 0 --device coreml-sim';
    const said = await command(run);
    expect(said).toMatchObject({ code: 0 });
    expect(said.err).toMatch(/coreml-sim, simulated: \d+ prompt tokens?[^]* at ~/);
    const timed = z.object({ truth: z.literal("simulated") });
    const simulated = z.object({
      device: z.literal("coreml-sim"),
      truth: z.literal("simulated"),
      stats: z.object({ promptSeconds: timed, promptRate: timed, rate: timed, firstTokenSeconds: timed }),
    });
    const machine = await command(`${run} --json`);
    simulated.parse(JSON.parse(machine.out));
    expect(machine.out).not.toContain("measured");
    const talk = "chat FILE -m Hello -n 3 --device coreml-sim";
    expect((await command(talk)).err).toMatch(/\[coreml-sim, simulated\]\n/);
    const answers = z.object({ answers: z.array(simulated.pick({ device: true, truth: true })).length(1) });
    answers.parse(JSON.parse((await command(`${talk} --json`)).out));
  });

  it("say how large the context is where the model knows less than was asked for", async () => {
    const said = async (context: number) => (await command(`run FILE -p Once -n 1 --context ${context}`)).err;
    expect(await said(5000)).toMatch(/, in a context of 1024, the most that there is\n/);
    expect(await said(1024)).not.toContain("context");
  });

  it("read a text from standard input where - stands for a file, and a prompt where nothing does", async () => {
    const given = (line: string, input: string): Promise<Ended> => rlx(words(line), { home, input });
    const { out: prompted } = await command('run FILE -p "Once upon a" -n 4 --temperature 0');
    for (const line of ["run FILE", "run FILE --prompt-file -", "run"])
      expect((await given(`${line} -n 4 --temperature 0`, "Once upon a\n")).out).toBe(prompted);
    const tokens = await given("tokenize FILE --text-file - --json", "Hello\n");
    expect((JSON.parse(tokens.out) as { pieces: string[] }).pieces.join("")).toBe("Hello\n");
  });

  it.each(["inspect", "graph", "segments", "route", "compile --dry-run"])(
    "say it where the context of %s is not the one that was asked for",
    async (name) => {
      const { code, err } = await command(`${name} FILE --context 4096`);
      expect(code).toBe(0);
      expect(err).toContain("--context 4096: the most that this model knows is 1024, and that is taken.\n");
      expect((await command(`${name} FILE --context 1024`)).err).not.toContain("--context");
    },
  );

  it("show the source of the chat format: the file's template, or ChatML where it has none", async () => {
    const bare = join(folder, "bare.gguf");
    const bytes = await readFile(SAMPLE);
    const key = bytes.indexOf("tokenizer.chat_template");
    bytes.write("x", key);
    await writeFile(bare, bytes);
    const talk = (file: string, ...more: readonly string[]) =>
      rlx(["chat", file, "-m", "Hello", "-n", "3", ...more], { home });
    const form = z.object({ template: z.enum(["file", "chatml"]) });
    for (const [file, template] of [
      [SAMPLE, "file"],
      [bare, "chatml"],
    ] as const) {
      expect(form.parse(JSON.parse((await talk(file, "--json")).out))).toEqual({ template });
      const said = "The file has no template; its vocabulary knows ChatML, so that is used.\n";
      expect((await talk(file)).err.includes(said)).toBe(template === "chatml");
    }
  });

  it("answer every line of a piped conversation", async () => {
    const { code, out, err } = await rlx(["chat", SAMPLE, "--temperature", "0"], { home, input: "Hello\nBye\n" });
    expect(code).toBe(0);
    expect(out.trim().split("\n").length).toBe(2);
    expect(err).toMatch(/cpu: 9 prompt tokens[^]*17 of them reused/);
  });
});

describe("a process", () => {
  it.each([
    ["--help", ""],
    ["inspct --json", ""],
    ["inspect FILE --metadata --json", ""],
    ["compile FILE --dry-run -o DIR/dry.mlpackage", ""],
    ["train --json", ""],
    ["run FILE -n 4 --temperature 0", "Once upon a\n"],
    ["chat FILE --temperature 0", "Hello\nBye\n"],
  ])("says %s with the words and the code of a call, and ends", async (line, input) => {
    const options = { home, input };
    const [{ code, signal, out }, here] = [await rlxProcess(words(line), options), await rlx(words(line), options)];
    expect({ code, signal, out }).toEqual({ code: here.code, signal: null, out: here.out });
  });
});

it("check of a wrong graph ends with 1, and says all that is wrong and what to write", async () => {
  const { code, out } = await command("check DIR/wrong.rlx");
  expect(code).toBe(1);
  expect(out).toMatch(/wrong\.rlx:7:8: \[mull\] no such op \(IR_STRUCTURE\)\n    write mul\n/);
  expect(out).toMatch(/wrong\.rlx:8:23: \[reduce\] unknown attribute "knd"[^]*\n    write kind\n\n2 faults\n$/);
  expect(await command("fmt DIR/wrong.rlx --check")).toMatchObject({ code: 0, out: "" });
});

it("eval says what JSON has no number for in words, also how far it is", async () => {
  const line = "eval DIR/odd.rlx --input x=1e20,-1";
  expect((await command(line)).out).toMatch(/square +f32\[2\] +Infinity 1 +NaN or ∞[^]*log +f32\[2\] +46\.052 NaN/);
  expect(JSON.parse((await command(`${line} --json`)).out)).toMatchObject({
    outputs: [
      { name: "square", values: ["Infinity", 1], error: "Infinity" },
      { name: "log", values: [46.051700592041016, "NaN"] },
      { name: "minus", values: ["-Infinity", -1] },
    ],
  });
});

it("eval takes numbers that are none, row by row, with the words of texts and of JSON", async () => {
  await writeFile(
    join(folder, "rows.rlx"),
    'graph "r" {\n  %x = input : f32[N,3]\n  %y = neg(%x)\n  return "y" = %y\n}\n',
  );
  const { out } = await command("eval DIR/rows.rlx --json --input x=1,nan,inf,-inf,NaN,-Infinity");
  expect(JSON.parse(out)).toMatchObject({
    symbols: { N: 2 },
    outputs: [{ shape: [2, 3], values: [-1, "NaN", "-Infinity", "Infinity", "NaN", "Infinity"] }],
  });
});

it("eval writes the ends of i64 as they are, and says that numbers near them are rounded", async () => {
  const place = join(folder, "ends");
  await writeFile(
    join(folder, "ends.rlx"),
    'graph "e" {\n  %x = input : f32[3]\n  %y = cast(%x) {to: "i64"}\n  return "y" = %y\n}\n',
  );
  const { code, err } = await command(`eval DIR/ends.rlx --input x=1e20,-1e20,300.7 -o ${place}`);
  expect({ code, err }).toMatchObject({
    code: 0,
    err: expect.stringMatching(/y: i64 numbers are held exactly up to/u),
  });
  const bytes = await readFile(join(place, "y.npy"));
  const ends = [0, 1, 2].map((i) => bytes.readBigInt64LE(bytes.length - 24 + 8 * i));
  expect(ends).toEqual([2n ** 63n - 1n, -(2n ** 63n), 300n]);
});

it("eval writes outputs as NumPy reads them, and takes them again", async () => {
  const place = join(folder, "arrays");
  expect((await command(`eval DIR/fit.rlx --symbol N=2 -o ${place}`)).code).toBe(0);
  const bytes = await readFile(join(place, "loss.npy"));
  expect(bytes.subarray(1, 6).toString()).toBe("NUMPY");
  expect(bytes.toString("latin1")).toContain("{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
  expect(bytes.length % 64).toBe(4);
  await writeFile(join(folder, "sum.rlx"), 'graph "s" {\n  %x = input : f32[]\n  return "y" = %x\n}\n');
  const back = JSON.parse((await command(`eval DIR/sum.rlx --input x=${join(place, "loss.npy")} --json`)).out) as {
    readonly outputs: readonly [{ readonly values: readonly number[] }];
  };
  expect(back.outputs[0].values).toEqual([bytes.readFloatLE(bytes.length - 4)]);
});

it("check of a damaged file ends with 1, and says where and what to do", async () => {
  const tensor = "blk.3.attn_v.weight";
  await writeDamaged(SAMPLE, join(folder, "damaged.gguf"), tensor, (bytes) =>
    bytes.writeUInt16LE(0x7c00, 34 * 8 * 127),
  );
  const { code, out } = await command("check DIR/damaged.gguf");
  expect(code).toBe(1);
  expect(out).toMatch(
    /^Broken: blk\.3\.attn_v\.weight: [^]*first in row 127, block 0 \(column 0\)\.\nDownload the file again/,
  );
  const machine = await command("check DIR/damaged.gguf --json");
  expect([machine.code, JSON.parse(machine.out)]).toMatchObject([1, { verdict: "broken", findings: [{ tensor }] }]);
});
