/** The keys of a GGUF from a model's config.json: those that every family has, and rope with its scaling. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { boolEntry, numberEntry, stringEntry } from "../gguf/encode.ts";
import { quote } from "../gguf/header.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import type { Json } from "../json.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { floatsBytes } from "../tensorBytes.ts";

/** What a family reads: the configuration of its text part. */
export interface HfConfig {
  /** For messages. */
  readonly name: string;
  readonly json: Json;
}

/** Keys without the architecture's prefix. Undefined values are left out; a boolean is a bool, `u32` is a whole number. */
export type Keys = Readonly<Record<string, number | boolean | string | undefined>>;

/** Keys that hold floats even where their value is whole. */
const FLOATS =
  /freq_base|epsilon|rope\.scaling\.(factor|attn_factor|yarn)|_scale$|attention\.scale|softcapping|expert_weights_scale|clamp_kqv/u;

/** `file`: for messages. */
export function entriesOf(file: string, architecture: string, keys: Keys): MetadataEntry[] {
  return Object.entries(keys).flatMap(([part, value]) => {
    const key = `${architecture}.${part}`;
    if (value === undefined) return [];
    if (typeof value === "boolean") return [boolEntry(key, value)];
    if (typeof value === "string") return [stringEntry(key, value)];
    if (FLOATS.test(part)) return [numberEntry(key, "f32", value)];
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return [numberEntry(key, "u32", value)];
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${file}] config.json makes ${key} ${value}: expected a whole number up to ${2 ** 32 - 1}`,
      { hint: "The file is damaged; download it again.", details: { key } },
    );
  });
}

/** A value that has to be there. */
export function needed(config: HfConfig, ...keys: readonly string[]): number {
  const value = config.json.number(...keys);
  if (value !== undefined) return value;
  throw new WorkbenchError("INPUT_MISSING_KEY", `[${config.name}] config.json has no ${quote(keys[0] ?? "")}`, {
    hint: "Download the model's folder again; this file lacks something that every model of its kind has.",
    details: { key: keys[0] ?? "" },
  });
}

/** A setting that neither this program nor the GGUF form of the family knows. */
export function refuse(config: HfConfig, key: string, got: string, expected: string): WorkbenchError {
  return new WorkbenchError(
    "UNSUPPORTED_ARCHITECTURE",
    `[${config.name}] config.json ${quote(key)}: got ${got}, expected ${expected}`,
    { hint: "Use a GGUF of the model, if there is one.", details: { key } },
  );
}

/** A setting that every model of the family has alike; another value is refused. */
export function expect(config: HfConfig, key: string, expected: number | boolean | string): void {
  const { json } = config;
  const kinds = { number: json.number(key), boolean: json.flag(key), string: json.text(key) };
  const given = kinds[typeof expected as keyof typeof kinds];
  if (given !== undefined && given !== expected) throw refuse(config, key, String(given), String(expected));
}

/** More than any known model; lists are made of this length, rows divided by it. */
const MOST = { "number of layers": 10_000, "number of heads": 1 << 16, "turned part of a head": 1 << 16 } as const;

/** A number that lists are made by, or rows divided. */
function counted(config: HfConfig, what: keyof typeof MOST, count: number): number {
  if (Number.isSafeInteger(count) && count >= 0 && count <= MOST[what]) return count;
  throw new WorkbenchError(
    "INPUT_LIMIT",
    `[${config.name}] config.json ${what}: got ${count}, expected a whole number up to ${MOST[what]}`,
    { hint: "No known model comes near this; the file is probably damaged." },
  );
}

export const headsOf = (config: HfConfig): number =>
  counted(config, "number of heads", needed(config, "num_attention_heads", "n_head", "num_heads", "n_heads"));
export function kvHeadsOf(config: HfConfig): number {
  const { json } = config;
  const isNew = json.flag("new_decoder_architecture");
  // Falcon's: those of the newer models have a number, the older ones one for all heads.
  if (isNew !== undefined && isNew !== true) return json.flag("multi_query") === true ? 1 : headsOf(config);
  return counted(config, "number of heads", json.number("num_key_value_heads", "num_kv_heads") ?? headsOf(config));
}
export const widthOf = (config: HfConfig): number => needed(config, "hidden_size", "n_embd", "d_model", "dim");
export const layersOf = (config: HfConfig): number =>
  counted(config, "number of layers", needed(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers"));
export const headSizeOf = (config: HfConfig): number =>
  config.json.number("head_dim") ?? Math.floor(widthOf(config) / headsOf(config));

/** Sizes, heads and norms: what decoders have in common. */
export function commonKeys(config: HfConfig): Keys {
  const { json } = config;
  return {
    context_length: needed(config, "max_position_embeddings", "n_positions", "n_ctx"),
    embedding_length: widthOf(config),
    block_count: layersOf(config),
    feed_forward_length: json.number("intermediate_size", "n_inner") ?? 4 * widthOf(config),
    "attention.head_count": headsOf(config),
    "attention.head_count_kv": kvHeadsOf(config),
    "attention.layer_norm_rms_epsilon": json.number("rms_norm_eps"),
    "attention.layer_norm_epsilon": json.number("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"),
    "attention.key_length": json.number("head_dim"),
    "attention.value_length": json.number("head_dim"),
    expert_count: json.number("num_local_experts", "num_experts", "n_routed_experts"),
    expert_used_count: json.number("num_experts_per_tok"),
  };
}

/** Where rope stands: beside the other settings in older files, in `rope_parameters` in newer ones. */
function ropeSettings({ json }: HfConfig): Json {
  const newer = json.child("rope_parameters");
  // Families whose layers differ have one group for each kind of layer.
  return newer.get("full_attention") === undefined ? newer : newer.child("full_attention");
}

export const ropeBase = (config: HfConfig): number | undefined =>
  config.json.number("rope_theta") ?? ropeSettings(config).number("rope_theta");

/** How rope is stretched; "default" for not at all. */
function ropeScaling(config: HfConfig): { readonly scaling: Json; readonly type: string } {
  const older = config.json.child("rope_scaling");
  const scaling = older.text("rope_type", "type") === undefined ? ropeSettings(config) : older;
  return { scaling, type: scaling.text("rope_type", "type") ?? "default" };
}

/** Frequencies are divided by numbers that travel as a tensor: refused for a family whose GGUF form has none. */
export function withoutRopeFactors(config: HfConfig, architecture: string): void {
  const { type } = ropeScaling(config);
  if (["llama3", "longrope", "su"].includes(type))
    throw refuse(config, "rope_scaling", quote(type), `another one, for a ${architecture}`);
}

interface RopeKeys {
  readonly keys: Keys;
  /** Divisors of the frequencies, which travel as tensors. */
  readonly tensors: Readonly<Record<string, TensorBytes>>;
}

/** `dimensions` of a head turn. */
export function ropeKeys(config: HfConfig, dimensions: number): RopeKeys {
  const { json } = config;
  const turned = counted(config, "turned part of a head", dimensions);
  const { scaling, type } = ropeScaling(config);
  const keys: Keys = { "rope.freq_base": ropeBase(config), "rope.dimension_count": turned };
  const context = needed(config, "max_position_embeddings");
  const original =
    scaling.number("original_max_position_embeddings") ?? json.number("original_max_position_embeddings");
  switch (type) {
    case "default":
    // Changes nothing within the context that the file names, and that is the context here.
    case "dynamic":
      return { keys, tensors: {} };
    case "linear":
      return {
        keys: { ...keys, "rope.scaling.type": "linear", "rope.scaling.factor": scaling.number("factor") },
        tensors: {},
      };
    case "yarn":
      return {
        keys: {
          ...keys,
          "rope.scaling.type": "yarn",
          "rope.scaling.factor": scaling.number("factor"),
          "rope.scaling.original_context_length": original ?? context,
        },
        tensors: {},
      };
    case "llama3":
      return {
        keys,
        tensors: { "rope_freqs.weight": floatsBytes(llama3Factors(scaling, turned, ropeBase(config) ?? 10_000)) },
      };
    case "longrope":
    case "su":
      return longRope(config, scaling, { keys, context, original: original ?? context, turned });
    default:
      throw refuse(config, "rope_scaling", quote(type), "default, linear, yarn, llama3 or longrope");
  }
}

/** Low frequencies are divided by the factor, high ones kept, with a ramp between them. */
function llama3Factors(scaling: Json, turned: number, base: number): Float32Array {
  const factor = scaling.number("factor") ?? 8;
  const low = scaling.number("low_freq_factor") ?? 1;
  const high = scaling.number("high_freq_factor") ?? 4;
  const original = scaling.number("original_max_position_embeddings") ?? 8192;
  return Float32Array.from({ length: turned / 2 }, (_, i) => {
    const wave = 2 * Math.PI * base ** ((2 * i) / turned);
    if (wave < original / high) return 1;
    if (wave > original / low) return factor;
    const smooth = (original / wave - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

interface LongRope {
  readonly keys: Keys;
  readonly context: number;
  readonly original: number;
  readonly turned: number;
}

function longRope(config: HfConfig, scaling: Json, { keys, context, original, turned }: LongRope): RopeKeys {
  const factors = (name: string): TensorBytes => {
    const list = scaling.list(name);
    if (list.length !== turned / 2 || !list.every((value) => typeof value === "number"))
      throw refuse(config, `rope_scaling.${name}`, `${list.length} values`, `${turned / 2} numbers`);
    return floatsBytes(Float32Array.from(list));
  };
  const growth = context / original;
  const attention =
    scaling.number("attention_factor") ?? (growth > 1 ? Math.sqrt(1 + Math.log(growth) / Math.log(original)) : 1);
  return {
    keys: { ...keys, "rope.scaling.original_context_length": original, "rope.scaling.attn_factor": attention },
    tensors: {
      "rope_factors_long.weight": factors("long_factor"),
      "rope_factors_short.weight": factors("short_factor"),
    },
  };
}
