/** A small whole GGUF: a few Qwen3 blocks in f32, a byte vocabulary and a chat template. */
import { writeFile } from "node:fs/promises";
import { memorySink } from "../formats/byteSink.ts";
import { numberEntry, stringEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { writeGguf } from "../formats/gguf/write.ts";
import { BYTE_TOKENS, byteVocabulary } from "./byteVocabulary.ts";
import { randomFloats, seededRandom } from "./random.ts";

const WIDTH = 64;
const HEADS = 4;
const KV_HEADS = 2;
const HEAD_DIM = 16;
const CONTEXT = 4096;
const EMBEDDING = "token_embd.weight";

/** One that knows reasoning, tools and their results, in the way of Hermes. */
export const toolTemplate = `{% if tools %}{{ tools|tojson }}
{% endif %}{% for message in messages %}{{ message.role }}: {% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>{% endif %}{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{{ call.function|tojson }}
</tool_call>{% endfor %}
{% endfor %}{% if enable_thinking is defined and not enable_thinking %}No thinking.
{% endif %}{% if add_generation_prompt %}assistant: {% endif %}`;

export interface TinyGguf {
  readonly architecture?: string;
  /** Adds an expert count, as mixtures of experts have. */
  readonly experts?: number;
  /** The pre-tokenizer it names. */
  readonly pre?: string;
  /** Many of them make a model that takes its time. */
  readonly layers?: number;
  /** Wide ones make a step that waits for memory. */
  readonly feedForward?: number;
  /** Never draws the end token (its logit is 0, others are higher): runs last until stopped. */
  readonly endless?: boolean;
  /** The text of its chat template. */
  readonly template?: string;
  /** Control tokens beside the bytes. */
  readonly marks?: readonly string[];
  /** Keys beside those that it needs. */
  readonly keys?: readonly MetadataEntry[];
}

export async function writeTinyGguf(
  path: string,
  {
    architecture = "qwen3",
    experts,
    pre = "qwen2",
    layers = 2,
    feedForward = 128,
    endless = false,
    template,
    marks = [],
    keys = [],
  }: TinyGguf = {},
): Promise<void> {
  const f32 = ggmlTypeByName("f32");
  if (f32 === undefined) throw new Error("no f32");
  const key = (name: string, value: number): MetadataEntry => numberEntry(`${architecture}.${name}`, "u32", value);
  const random = seededRandom(5);
  const tensor = (name: string, ...dims: readonly number[]) => {
    const count = dims.reduce((product, dim) => product * dim, 1);
    const values = randomFloats(random, count, dims.length > 1 ? 1 / Math.sqrt(dims[0] ?? 1) : 0.1);
    if (dims.length === 1) values.forEach((value, i) => (values[i] = 1 + value));
    if (endless && name === EMBEDDING) values.fill(0, -WIDTH);
    return { name, type: f32, dims, data: () => [new Uint8Array(values.buffer)] };
  };
  const block = (index: number) => [
    tensor(`blk.${index}.attn_norm.weight`, WIDTH),
    tensor(`blk.${index}.attn_q.weight`, WIDTH, HEADS * HEAD_DIM),
    tensor(`blk.${index}.attn_k.weight`, WIDTH, KV_HEADS * HEAD_DIM),
    tensor(`blk.${index}.attn_v.weight`, WIDTH, KV_HEADS * HEAD_DIM),
    tensor(`blk.${index}.attn_q_norm.weight`, HEAD_DIM),
    tensor(`blk.${index}.attn_k_norm.weight`, HEAD_DIM),
    tensor(`blk.${index}.attn_output.weight`, HEADS * HEAD_DIM, WIDTH),
    tensor(`blk.${index}.ffn_norm.weight`, WIDTH),
    tensor(`blk.${index}.ffn_gate.weight`, WIDTH, feedForward),
    tensor(`blk.${index}.ffn_up.weight`, WIDTH, feedForward),
    tensor(`blk.${index}.ffn_down.weight`, feedForward, WIDTH),
  ];
  const sink = memorySink();
  await writeGguf(sink, {
    entries: [
      stringEntry("general.architecture", architecture),
      stringEntry("general.name", "tiny"),
      key("block_count", layers),
      key("context_length", CONTEXT),
      key("embedding_length", WIDTH),
      key("feed_forward_length", feedForward),
      key("attention.head_count", HEADS),
      key("attention.head_count_kv", KV_HEADS),
      key("attention.key_length", HEAD_DIM),
      key("attention.value_length", HEAD_DIM),
      ...(experts === undefined ? [] : [key("expert_count", experts)]),
      numberEntry(`${architecture}.rope.freq_base`, "f32", 10_000),
      numberEntry(`${architecture}.attention.layer_norm_rms_epsilon`, "f32", 1e-6),
      ...byteVocabulary({ pre, template, marks }),
      ...keys,
    ],
    tensors: [
      tensor(EMBEDDING, WIDTH, BYTE_TOKENS + marks.length),
      ...Array.from({ length: layers }, (_, index) => block(index)).flat(),
      tensor("output_norm.weight", WIDTH),
    ],
  });
  await writeFile(path, sink.bytes());
}
