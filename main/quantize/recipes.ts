/**
 * Recipes: which type each weight gets. A recipe has one type for most of them; a few roles get more bits, or less, by the
 * place of their block. The choices are llama.cpp's, so that "Q4_K_M" means the same file everywhere
 * (recipes.oracle.test.ts compares them with its own for every recipe that needs no importance matrix).
 */
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import type { GgmlType } from "../formats/gguf/types.ts";
import { fileTypeNumber, ggmlTypeByName } from "../formats/gguf/types.ts";

/** The type of what no rule names. */
const RECIPES = {
  f32: "f32",
  f16: "f16",
  bf16: "bf16",
  q4_0: "q4_0",
  q4_1: "q4_1",
  q5_0: "q5_0",
  q5_1: "q5_1",
  q8_0: "q8_0",
  q2_k: "q2_k",
  q2_k_s: "q2_k",
  q3_k_s: "q3_k",
  q3_k_m: "q3_k",
  q3_k_l: "q3_k",
  q4_k_s: "q4_k",
  q4_k_m: "q4_k",
  q5_k_s: "q5_k",
  q5_k_m: "q5_k",
  q6_k: "q6_k",
  iq1_s: "iq1_s",
  iq1_m: "iq1_m",
  iq2_xxs: "iq2_xxs",
  iq2_xs: "iq2_xs",
  iq2_s: "iq2_xs",
  iq2_m: "iq2_s",
  iq3_xxs: "iq3_xxs",
  iq3_xs: "iq3_s",
  iq3_s: "iq3_s",
  iq3_m: "iq3_s",
  iq4_nl: "iq4_nl",
  iq4_xs: "iq4_xs",
  tq1_0: "tq1_0",
  tq2_0: "tq2_0",
  mxfp4_moe: "q8_0",
  q1_0: "q1_0",
  q2_0: "q2_0",
} as const satisfies Readonly<Record<string, string>>;

export type Recipe = keyof typeof RECIPES;
export const RECIPE_NAMES = Object.keys(RECIPES) as readonly Recipe[];
/** Types of fewer than 3 bits are of no use without one. */
export const needsImportance = (recipe: Recipe): boolean =>
  among(recipe, "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq3_xxs", "q2_k_s");

export function recipeOf(name: string): Recipe {
  const found = RECIPE_NAMES.find((recipe) => recipe === name.toLowerCase());
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[quantize] recipe: got ${name}, expected one of ${RECIPE_NAMES.join(", ")}`,
    { hint: "q4_k_m is a good start." },
  );
}

/** The recipe's number in `general.file_type`. */
export function fileTypeOf(recipe: Recipe): number {
  const number = fileTypeNumber(recipe.toUpperCase());
  invariant(number !== undefined, `[quantize] ${recipe} has a number`);
  return number;
}

/** What the rules ask of a model. */
export interface ModelFacts {
  readonly architecture: string;
  /** The blocks that have a value projection, and those that have a feed-forward's last matrix. */
  readonly attentionBlocks: number;
  readonly blocks: number;
  readonly experts: number;
  /** Query heads to a key head. */
  readonly groups: number;
  /** No output matrix: the embedding is both. */
  readonly tied: boolean;
  /** An importance matrix is used. */
  readonly importance: boolean;
}

export interface WeightPlace {
  readonly name: string;
  readonly columns: number;
  /** Its block's place among those that have such a weight. */
  readonly block: number;
}

type Role = "output" | "embedding" | "q" | "k" | "v" | "qkv" | "attentionOutput" | "gate" | "up" | "down" | "other";

const ROLES: readonly (readonly [RegExp, Role])[] = [
  [/^output\.weight$/u, "output"],
  [/^(?:token_embd|per_layer_token_embd)\.weight$/u, "embedding"],
  [/attn_qkv\.weight$/u, "qkv"],
  [/attn_kv_b\.weight$/u, "v"],
  [/attn_v\.weight$/u, "v"],
  [/attn_k\.weight$/u, "k"],
  [/attn_q\.weight$/u, "q"],
  [/attn_output\.weight$/u, "attentionOutput"],
  [/ffn_gate/u, "gate"],
  [/ffn_up/u, "up"],
  [/ffn_down/u, "down"],
];

const roleOf = (name: string): Role => ROLES.find(([pattern]) => pattern.test(name))?.[1] ?? "other";

/** The first and the last eighth of the blocks, and every third between them. */
const wantsMore = (block: number, blocks: number): boolean => {
  const eighth = Math.floor(blocks / 8);
  return block < eighth || block >= Math.floor((7 * blocks) / 8) || (block - eighth) % 3 === 2;
};

const among = (recipe: Recipe, ...names: readonly Recipe[]): boolean => names.includes(recipe);
const smallest = (recipe: Recipe): boolean => among(recipe, "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m");

/** The type of a weight, before its row's length is looked at. */
function wanted(recipe: Recipe, place: WeightPlace, model: ModelFacts): string {
  const base = RECIPES[recipe];
  const role = roleOf(place.name);
  if (role === "output" || (role === "embedding" && model.tied && place.name.startsWith("token_embd")))
    return outputType(recipe, base, place, model);
  if (recipe === "mxfp4_moe") return place.name.endsWith("_exps.weight") ? "mxfp4" : base;
  if (role === "embedding") return embeddingType(recipe, base);
  if (smallest(recipe)) return smallType(recipe, base, role, place, model);
  switch (role) {
    case "v":
      return valueType(recipe, base, place, model);
    case "k":
      return model.experts === 8 ? "q8_0" : queryType(recipe, base);
    case "q":
      return queryType(recipe, base);
    case "down":
      return downType(recipe, base, place, model);
    case "attentionOutput":
      return attentionOutputType(recipe, base, model);
    case "qkv":
      if (among(recipe, "q3_k_m", "q3_k_l", "iq3_m")) return "q4_k";
      return recipe === "q4_k_m" ? "q5_k" : recipe === "q5_k_m" ? "q6_k" : base;
    case "gate":
    case "up": {
      const { block } = place;
      const middle = block >= Math.floor(model.blocks / 8) && block < Math.floor((7 * model.blocks) / 8);
      return recipe === "iq3_xs" && middle ? "iq3_xxs" : base;
    }
    default:
      return base;
  }
}

function outputType(recipe: Recipe, base: string, { columns }: WeightPlace, { architecture }: ModelFacts): string {
  if (["f32", "f16", "bf16", "q8_0"].includes(base)) return base;
  if (architecture === "falcon" || columns % 256 !== 0) return "q8_0";
  return smallest(recipe) || recipe === "iq3_xxs" ? "q5_k" : "q6_k";
}

function embeddingType(recipe: Recipe, base: string): string {
  if (among(recipe, "iq2_xxs", "iq2_xs", "iq1_s", "iq1_m")) return "q2_k";
  if (among(recipe, "iq2_s", "iq2_m", "iq3_xxs")) return "iq3_s";
  return among(recipe, "tq1_0", "tq2_0", "q2_0") ? "q4_k" : base;
}

/** Recipes below 3 bits: a few weights decide how well they work. */
function smallType(recipe: Recipe, base: string, role: Role, { block }: WeightPlace, model: ModelFacts): string {
  const more = among(recipe, "iq2_s", "iq2_m") ? "iq3_s" : "q2_k";
  if (role === "v") return model.groups >= 4 || model.experts >= 4 ? "q4_k" : more;
  if (role === "k" && model.experts === 8) return "q4_k";
  if (role === "down" && block < Math.floor(model.blocks / 8)) return more;
  if (role !== "attentionOutput") return base;
  if (model.experts === 8) return "q5_k";
  if (among(recipe, "iq1_s", "iq1_m")) return "iq2_xxs";
  return among(recipe, "iq2_s", "iq2_m") ? "iq3_s" : base;
}

function valueType(recipe: Recipe, base: string, { block }: WeightPlace, model: ModelFacts): string {
  const grouped = model.groups >= 4;
  const chosen = (): string => {
    if (recipe === "q2_k") return grouped ? "q4_k" : "q3_k";
    if (recipe === "iq3_xxs") return grouped ? "q4_k" : model.importance ? "iq3_xxs" : "iq3_s";
    if (grouped && among(recipe, "q2_k_s", "iq3_xs", "iq3_s")) return "q4_k";
    if (grouped && among(recipe, "iq4_nl", "iq4_xs")) return "q5_k";
    if (recipe === "iq3_m") return "q4_k";
    if (recipe === "q3_k_m") return block < 2 ? "q5_k" : "q4_k";
    if (recipe === "q3_k_l") return "q5_k";
    if (among(recipe, "q4_k_m", "q5_k_m") && wantsMore(block, model.attentionBlocks)) return "q6_k";
    return recipe === "q4_k_s" && block < 4 ? "q5_k" : base;
  };
  // Eight experts share one small value projection.
  return model.experts === 8 ? "q8_0" : chosen();
}

const queryType = (recipe: Recipe, base: string): string =>
  recipe === "iq3_xs" ? "iq3_xxs" : recipe === "iq3_xxs" ? "iq2_s" : base;

function downType(recipe: Recipe, base: string, { block }: WeightPlace, model: ModelFacts): string {
  const { blocks, importance } = model;
  const falcon = model.architecture === "falcon";
  const early = block < Math.floor(blocks / 8);
  const earliest = block < Math.floor(blocks / 16);
  const more = wantsMore(block, blocks);
  switch (recipe) {
    case "q2_k":
      return "q3_k";
    case "q2_k_s":
      return early ? "q4_k" : base;
    case "iq3_xxs":
      return importance ? base : early ? "q4_k" : "q3_k";
    case "q3_k_m":
      return earliest ? "q5_k" : !falcon || more ? "q4_k" : "q3_k";
    case "iq3_m":
      return early || (model.experts === 8 && more) ? "q4_k" : base;
    case "q3_k_l":
      return falcon ? "q4_k" : "q5_k";
    case "q4_k_m":
      if (falcon) return earliest ? "q6_k" : more ? "q5_k" : "q4_k";
      return more ? "q6_k" : base;
    case "q5_k_m":
      return more ? "q6_k" : base;
    case "q4_k_s":
      return !falcon && early ? "q5_k" : base;
    case "iq4_nl":
    case "iq4_xs":
      return early && !importance ? "q5_k" : base;
    case "q4_0":
      return early && importance ? "q4_1" : base;
    case "q5_0":
      return early && importance ? "q5_1" : base;
    default:
      return base;
  }
}

function attentionOutputType(recipe: Recipe, base: string, { architecture, experts }: ModelFacts): string {
  if (architecture === "falcon") return recipe === "q3_k_l" ? "q4_k" : base;
  const raised = [
    "q2_k",
    "iq3_xs",
    "iq3_xxs",
    "q3_k_s",
    "q3_k_m",
    "iq4_nl",
    "q4_k_s",
    "q4_k_m",
    "iq3_s",
    "iq3_m",
    "iq4_xs",
  ];
  if (experts === 8) return raised.includes(recipe) ? "q5_k" : base;
  const types: Partial<Record<Recipe, string>> = {
    q2_k: "q3_k",
    iq3_xxs: "iq3_s",
    q3_k_m: "q4_k",
    q3_k_l: "q5_k",
    iq3_m: "q4_k",
  };
  return types[recipe] ?? base;
}

/** Where rows are no whole blocks: the type that stands in, and f16 where that does not fit either. */
const STAND_IN: Readonly<Record<string, string>> = {
  q2_k: "q4_0",
  q3_k: "q4_0",
  q4_k: "q5_0",
  q5_k: "q5_1",
  q6_k: "q8_0",
  tq1_0: "q4_0",
  tq2_0: "q4_0",
  q2_0: "q4_0",
};

export function typeFor(
  recipe: Recipe,
  place: WeightPlace,
  model: ModelFacts,
  pure = false,
): { type: GgmlType; standsInFor?: string } {
  const name = pure ? RECIPES[recipe] : wanted(recipe, place, model);
  const type = typeNamed(name);
  if (place.columns % type.blockSize === 0) return { type };
  const other = typeNamed(STAND_IN[name] ?? (type.blockSize === 256 ? "iq4_nl" : "f16"));
  return { type: place.columns % other.blockSize === 0 ? other : typeNamed("f16"), standsInFor: name };
}

function typeNamed(name: string): GgmlType {
  const type = ggmlTypeByName(name);
  invariant(type !== undefined, `[quantize] ${name} is a type of ggml`);
  return type;
}

/** Weights that stay as they are: norms, biases, routers, and what is tiny or read by hand. */
const KEPT =
  /_norm\.weight$|ffn_gate_inp\.weight$|ffn_gate_inp_shexp\.weight$|altup|laurel|per_layer_model_proj|^position_embd\.weight$|^token_types\.weight$|ssm_conv1d|shortconv\.conv|time_mix_(?:first|w0|w1|w2|v0|v1|v2|a0|a1|a2|g1|g2|decay_w1|decay_w2|lerp_fused)\.weight$|attn_rel_b\.weight$/u;

export const isQuantised = (name: string, rank: number): boolean =>
  rank >= 2 && name.endsWith("weight") && !KEPT.test(name);
