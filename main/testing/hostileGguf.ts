/** Opens damaged GGUF files, uses all that a user would see of them, and collects faults. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { ErrorCode } from "../diagnostics/codes.ts";
import type { ByteSource } from "../formats/byteSource.ts";
import { finish } from "../ir/steps.ts";
import { template } from "../models/template.ts";
import { describeModel } from "../models/describe.ts";
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { arrayLength, elementText, previewValue } from "../formats/gguf/metadata.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { encodeHeader } from "../formats/gguf/write.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";
import { mutated } from "./mutateGguf.ts";

/** The header of a small model with every kind of value. Its data would be 20 GB of zeros. */
export function victimHeader(): { readonly bytes: Uint8Array; readonly total: number } {
  const words = Array.from({ length: 60 }, (_, i) => `w${i}`);
  const type = (name: string) => ggmlTypeByName(name) ?? ggmlTypeByName("f32");
  const shape = (name: string, typeName: string, dims: number[]): TensorShape[] => {
    const found = type(typeName);
    return found === undefined ? [] : [{ name, type: found, dims }];
  };
  const { bytes, total } = encodeHeader({
    entries: [
      stringEntry("general.architecture", "llama"),
      numberEntry("general.alignment", "u32", 32),
      ...["block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count"].map(
        (key) => numberEntry(`llama.${key}`, "u32", 256),
      ),
      numberEntry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "llama-bpe"),
      stringsEntry("tokenizer.ggml.tokens", words),
      numbersEntry(
        "tokenizer.ggml.token_type",
        "i32",
        words.map(() => 1),
      ),
      stringsEntry("tokenizer.ggml.merges", ["w 1", "w 2"]),
      stringEntry("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}"),
    ],
    tensors: [
      ...shape("token_embd.weight", "q4_k", [256, 60]),
      ...shape("blk.0.attn_q.weight", "q8_0", [256, 256]),
      ...shape("blk.0.ffn_up.weight", "f16", [256, 40_000_000]),
    ],
  });
  return { bytes, total };
}

/** The header as the beginning of a file of `total` bytes; the rest are zeros. */
function sourceOf(bytes: Uint8Array, total: number): ByteSource {
  return {
    name: "hostile.gguf",
    byteLength: total,
    async read(offset, length) {
      const out = new Uint8Array(length);
      if (offset < bytes.length) out.set(bytes.subarray(offset, Math.min(bytes.length, offset + length)));
      return out;
    },
    close: async () => undefined,
  };
}

export interface HostileResult {
  readonly outcomes: ReadonlyMap<ErrorCode | "opened", number>;
  /** Wrong errors and runs over a second. Must stay empty. */
  readonly faults: readonly string[];
  readonly slowestMs: number;
}

export interface Attack {
  /** The header that is damaged, and the bytes of the file it stands for. */
  readonly victim?: { readonly bytes: Uint8Array; readonly total: number };
  /** How it is damaged; as headers of GGUFs are, without it. */
  readonly damage?: (bytes: Uint8Array, seed: number) => Uint8Array;
  /** What is done with each file; for tests of the attack itself. */
  readonly work?: (source: ByteSource) => Promise<unknown>;
}

export async function attack(
  first: number,
  count: number,
  { victim = victimHeader(), damage = mutated, work = touchEverything }: Attack = {},
): Promise<HostileResult> {
  const outcomes = new Map<ErrorCode | "opened", number>();
  const faults: string[] = [];
  let slowestMs = 0;
  for (let seed = first; seed < first + count; seed++) {
    const bytes = damage(victim.bytes, seed);
    // Processor time, for the clock on the wall depends on what else runs.
    const start = process.cpuUsage();
    let outcome: ErrorCode | "opened" = "opened";
    try {
      // Most pretend to have their data, so that lies about sizes get further.
      await work(sourceOf(bytes, seed % 5 === 0 ? bytes.length : victim.total));
    } catch (error) {
      if (error instanceof WorkbenchError && !error.code.startsWith("BUG_") && error.hint !== undefined)
        outcome = error.code;
      else faults.push(`seed ${seed}: ${error instanceof Error ? `${error.name} ${error.message}` : String(error)}`);
    }
    const { user, system } = process.cpuUsage(start);
    const took = (user + system) / 1000;
    slowestMs = Math.max(slowestMs, took);
    if (took > 1000) faults.push(`seed ${seed}: took ${Math.round(took)} ms`);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  return { outcomes, faults, slowestMs };
}

/** Reads all that a user sees of a file: overview, values, tokens. */
async function touchEverything(source: ByteSource): Promise<GgufFile> {
  const file = await openGguf(source);
  describeModel(file);
  for (const { value } of file.metadata.entries) {
    previewValue(value);
    const length = arrayLength(value);
    if (length !== undefined && length > 0) elementText(value, length - 1);
  }
  if (file.identity.length < 32) throw new Error("no identity");
  const tokenizer = createTokenizer(file);
  tokenizer.decode(tokenizer.encode("w1 w2 some text <|im_end|>"));
  return file;
}

/** As above, and builds the graph. */
export async function touchModel(source: ByteSource): Promise<void> {
  const file = await touchEverything(source);
  finish(template(file, { cacheType: "f16", largestStep: 16, largestRows: 1, largestCapacity: 64 }));
}
