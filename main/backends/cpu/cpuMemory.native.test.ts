// Weights are used where their file is mapped: opening and running a model takes little memory of its own.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { numberEntry, stringEntry } from "../../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../../formats/gguf/types.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import type { TensorToWrite } from "../../formats/gguf/write.ts";
import { seededRandom } from "../../testing/random.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { openFileSink } from "../../node/files/fileByteSource.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-cpu-memory-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [WIDTH, FEED_FORWARD, KEYS, HEAD, LAYERS, TOKENS] = [1024, 3072, 512, 64, 5, 4096];

/** Small random weights in a type's own bytes; a few of them over and over are as good as many. */
function randomBytes(type: string, values: number): Uint8Array {
  const random = seededRandom(5);
  const few = (): Uint8Array => {
    if (type === "f32") return new Uint8Array(Float32Array.from({ length: 4096 }, () => 0.03 * random.normal()).buffer);
    // Halves of about 1/32, of either sign.
    const half = (): number => 0x2800 | random.integer(1024) | (random.integer(2) << 15);
    if (type === "f16") return new Uint8Array(Uint16Array.from({ length: 4096 }, half).buffer);
    const blocks = Uint8Array.from({ length: 128 * 34 }, () => random.integer(256));
    const view = new DataView(blocks.buffer);
    for (let at = 0; at < blocks.length; at += 34) view.setUint16(at, 0x0c00, true);
    return blocks;
  };
  const bytes = Buffer.alloc((values * { f32: 4096, f16: 2048, q8_0: 1088 }[type]!) / 1024);
  return bytes.fill(few());
}

async function writeModel(path: string): Promise<number> {
  const tensor = (name: string, type: string, ...dims: number[]): TensorToWrite => {
    const values = dims.reduce((product, dim) => product * dim, 1);
    return { name: `${name}.weight`, type: ggmlTypeByName(type)!, dims, data: () => [randomBytes(type, values)] };
  };
  const block = (i: number): TensorToWrite[] => [
    tensor(`blk.${i}.attn_norm`, "f32", WIDTH),
    tensor(`blk.${i}.attn_q`, "f16", WIDTH, WIDTH),
    tensor(`blk.${i}.attn_k`, "f16", WIDTH, KEYS),
    tensor(`blk.${i}.attn_v`, "f16", WIDTH, KEYS),
    tensor(`blk.${i}.attn_output`, "f16", WIDTH, WIDTH),
    tensor(`blk.${i}.ffn_norm`, "f32", WIDTH),
    tensor(`blk.${i}.ffn_gate`, "q8_0", WIDTH, FEED_FORWARD),
    tensor(`blk.${i}.ffn_up`, "q8_0", WIDTH, FEED_FORWARD),
    tensor(`blk.${i}.ffn_down`, "q8_0", FEED_FORWARD, WIDTH),
  ];
  const key = (name: string, value: number) => numberEntry(`llama.${name}`, "u32", value);
  return writeGguf(await openFileSink(path), {
    entries: [
      stringEntry("general.architecture", "llama"),
      key("block_count", LAYERS),
      key("context_length", 512),
      key("embedding_length", WIDTH),
      key("feed_forward_length", FEED_FORWARD),
      key("attention.head_count", WIDTH / HEAD),
      key("attention.head_count_kv", KEYS / HEAD),
      numberEntry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-6),
    ],
    tensors: [
      tensor("token_embd", "f32", WIDTH, TOKENS),
      ...Array.from({ length: LAYERS }, (_, i) => block(i)).flat(),
      tensor("output_norm", "f32", WIDTH),
    ],
  });
}

/** Opens the first model, then measures the second; runs of one token and of several take different kernels. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { openGguf } from ${JSON.stringify(join(import.meta.dirname, "../../formats/gguf/open.ts"))};
import { openDecoder } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/devices/cpu.ts"))};
import { GREEDY_DRAW } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/generate.ts"))};
import { loadAddon } from ${JSON.stringify(join(import.meta.dirname, "../../node/native/addon.ts"))};
import { openFileSource } from ${JSON.stringify(join(import.meta.dirname, "../../node/files/fileByteSource.ts"))};

const engine = loadAddon({ weights: "mapped" });
const held = () => {
  gc();
  const status = readFileSync("/proc/self/status", "utf8");
  const bytes = (name) => 1024 * Number(new RegExp(name + ":\\\\s+(\\\\d+) kB").exec(status)[1]);
  return { own: bytes("RssAnon"), files: bytes("RssFile") };
};
const measured = async (path) => {
  const before = held();
  const file = await openGguf(await openFileSource(path));
  const model = openDecoder(engine, file, [path], { threads: 2 });
  const session = model.open({ context: 64 });
  await session.feed(Array.from({ length: 32 }, (_, i) => i));
  for (let i = 0; i < 3; i++) await session.feed([i], { sample: { ...GREEDY_DRAW, seed: 1, alternatives: 0 } });
  const after = held();
  session.dispose();
  model.dispose();
  await file.close();
  return { own: after.own - before.own, files: after.files - before.files };
};
await measured(process.argv[2]);
console.log(JSON.stringify(await measured(process.argv[3])));
`;

// Only Linux tells a process's own memory from what it maps of files, in /proc/self/status.
test.runIf(process.platform === "linux")("weights have no second copy in memory", async () => {
  const [tiny, path, program] = [join(folder, "tiny.gguf"), join(folder, "model.gguf"), join(folder, "measure.mts")];
  await writeTinyGguf(tiny);
  const size = await writeModel(path);
  expect(size).toBeGreaterThan(90e6);
  writeFileSync(program, PROGRAM);
  const said = execFileSync(process.execPath, ["--expose-gc", "--import", "tsx", program, tiny, path], {
    cwd: join(import.meta.dirname, "../../.."),
    encoding: "utf8",
    // Before the test's own limit, which could not end it.
    timeout: 50_000,
  });
  const { own, files } = JSON.parse(said) as { own: number; files: number };
  // They were all read, from the file; a system short of memory may have taken back some of its pages since.
  expect(files).toBeGreaterThan(0.5 * size);
  expect(own).toBeLessThan(0.25 * size);
});
