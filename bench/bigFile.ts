// A 20 GB file (sparse, made here) with a vocabulary of 150 000 tokens: time and memory of the engine's overview, and of its
// folded graph, the same with a predicted route, and the route for another chip. Each of ten runs is a process of its own. Prints JSON.
//   npx tsx bench/bigFile.ts [--runs 10]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../main/formats/gguf/encode.ts";
import { ggmlTypeByName } from "../main/formats/gguf/types.ts";
import { encodeHeader } from "../main/formats/gguf/write.ts";
import { median } from "../main/runtime/statistics.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "10" } } });
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TOKENS = 150_000;
const [LAYERS, WIDTH, FF] = [64, 5120, 17_408];

function header(): { bytes: Uint8Array; total: number } {
  const type = (name: string) => {
    const found = ggmlTypeByName(name);
    if (!found) throw new Error(`no type ${name}`);
    return found;
  };
  const tokens = Array.from({ length: TOKENS }, (_, i) => `tok${i.toString(36)}`);
  const of = (name: string, kind: string, ...dims: number[]) => ({ name, type: type(kind), dims });
  const tensors = [
    of("token_embd.weight", "q6_k", WIDTH, TOKENS),
    of("output.weight", "q6_k", WIDTH, TOKENS),
    of("output_norm.weight", "f32", WIDTH),
  ];
  for (let i = 0; i < LAYERS; i++) {
    const block = (name: string, kind: string, ...dims: number[]) => of(`blk.${i}.${name}.weight`, kind, ...dims);
    tensors.push(
      block("attn_norm", "f32", WIDTH),
      block("attn_q", "q4_k", WIDTH, 8192),
      block("attn_k", "q4_k", WIDTH, 1024),
    );
    tensors.push(
      block("attn_v", "q6_k", WIDTH, 1024),
      block("attn_output", "q4_k", 8192, WIDTH),
      block("attn_q_norm", "f32", 128),
    );
    tensors.push(
      block("attn_k_norm", "f32", 128),
      block("ffn_norm", "f32", WIDTH),
      block("ffn_gate", "q4_k", WIDTH, FF),
    );
    tensors.push(block("ffn_up", "q4_k", WIDTH, FF), block("ffn_down", "q6_k", FF, WIDTH));
  }
  const count = (key: string, value: number) => numberEntry(`qwen3.${key}`, "u32", value);
  return encodeHeader({
    entries: [
      stringEntry("general.architecture", "qwen3"),
      stringEntry("general.name", "Sparse 32B"),
      count("block_count", LAYERS),
      count("context_length", 40_960),
      count("embedding_length", WIDTH),
      count("feed_forward_length", FF),
      count("attention.head_count", 64),
      count("attention.head_count_kv", 8),
      count("attention.key_length", 128),
      count("attention.value_length", 128),
      numberEntry("qwen3.rope.freq_base", "f32", 1e6),
      numberEntry("qwen3.attention.layer_norm_rms_epsilon", "f32", 1e-6),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "qwen2"),
      stringsEntry("tokenizer.ggml.tokens", tokens),
      numbersEntry("tokenizer.ggml.token_type", "i32", new Int32Array(TOKENS).fill(1)),
      stringsEntry(
        "tokenizer.ggml.merges",
        Array.from({ length: TOKENS }, (_, i) => `t${i} u${i}`),
      ),
    ],
    tensors,
  });
}

const child = `
import { createEngine } from ${JSON.stringify(join(root, "main/node/engine/engine.ts"))};
import { readSettings } from ${JSON.stringify(join(root, "main/node/settings.ts"))};
const engine = createEngine({ settings: readSettings(process.env) });
const signal = new AbortController().signal;
const { handlers } = engine;
await handlers.calls["engine.info"]({}, { signal });
globalThis.gc?.();
const idle = process.memoryUsage.rss();
const start = performance.now();
const overview = await handlers.calls["model.open"]({ source: { kind: "path", path: process.argv[2] } }, { signal });
const opened = performance.now();
const peak = process.memoryUsage.rss();
const target = overview.target;
await handlers.calls["graph.get"]({ model: overview.model, stage: { kind: "legal", target }, phase: "decode" }, { signal });
const drawn = performance.now();
await handlers.calls["route.get"]({ model: overview.model, target, phase: "decode" }, { signal });
const routed = performance.now();
await handlers.calls["route.get"]({ model: overview.model, target: { ...target, chip: "m1" }, phase: "decode" }, { signal });
const again = performance.now();
console.log(JSON.stringify({
  overviewMs: opened - start,
  overviewMiB: (peak - idle) / 2 ** 20,
  graphMs: drawn - start,
  routedMs: routed - start,
  otherChipMs: again - routed,
  bytes: overview.file.bytes,
}));
await engine.dispose();
`;

interface Sample {
  readonly overviewMs: number;
  readonly overviewMiB: number;
  readonly graphMs: number;
  readonly routedMs: number;
  readonly otherChipMs: number;
  readonly bytes: number;
}

const folder = mkdtempSync(join(tmpdir(), "rlx-big-"));
try {
  const { bytes, total } = header();
  const path = join(folder, "sparse.gguf");
  writeFileSync(path, bytes);
  truncateSync(path, total);
  const script = join(folder, "child.mjs");
  writeFileSync(script, child);
  const samples = Array.from({ length: Number(values.runs) }, () => {
    const run = spawnSync(
      process.execPath,
      ["--expose-gc", "--import", join(root, "node_modules/tsx/dist/loader.mjs"), script, path],
      {
        cwd: root,
        encoding: "utf8",
        env: { ...process.env, RLX_HOME: join(folder, "home") },
      },
    );
    if (run.status !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout) as Sample;
  });
  const middle = (key: keyof Sample) => Number(median(samples.map((sample) => sample[key])).toFixed(1));
  const result = {
    fileBytes: samples[0]?.bytes,
    runs: samples.length,
    overviewMs: middle("overviewMs"),
    overviewMiB: middle("overviewMiB"),
    graphMs: middle("graphMs"),
    routedGraphMs: middle("routedMs"),
    otherChipMs: middle("otherChipMs"),
  };
  console.log(
    JSON.stringify(
      { ...result, goals: { overviewMs: 150, overviewMiB: 64, routedGraphMs: 900, otherChipMs: 50 } },
      undefined,
      2,
    ),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
