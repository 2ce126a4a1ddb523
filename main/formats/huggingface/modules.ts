/**
 * What sentence-transformers puts behind a model: modules.json lists its steps, whose files lie in folders of their own. The
 * pooling is a key of a GGUF; of matrices, EmbeddingGemma's two alone have a place there.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { SiblingOpener } from "../byteSource.ts";
import { quote } from "../gguf/header.ts";
import type { NamedTensor } from "../gguf/madeGguf.ts";
import { Json } from "../json.ts";
import type { SafetensorsFile } from "../safetensors/header.ts";
import { readSafetensors } from "../safetensors/header.ts";
import type { Keys } from "./keys.ts";
import type { HfFamily } from "./parts.ts";
import { storedBytes } from "./weights.ts";

export const POOLING_FILE = "1_Pooling/config.json";
const DENSE = /^\d{1,2}_Dense$/u;
/** Files in folders below a model's own that belong to it. */
export const isModuleFile = (name: string): boolean =>
  name === POOLING_FILE || /^\d{1,2}_Dense\/(config\.json|model\.safetensors)$/u.test(name);

export interface DenseModule {
  readonly path: string;
  readonly config: Json;
  readonly weights: SafetensorsFile;
}

interface Reading {
  /** For messages. */
  readonly name: string;
  readonly sibling: SiblingOpener;
  readonly json: (name: string) => Promise<Json>;
  readonly signal: AbortSignal | undefined;
}

/** The matrices behind the pooling, in their order; `modules` is modules.json. */
export async function denseModules(
  modules: readonly unknown[],
  { name, sibling, json, signal }: Reading,
): Promise<readonly DenseModule[]> {
  const found: DenseModule[] = [];
  for (const module of modules.map((item) => new Json(item))) {
    if (module.text("type")?.endsWith("Dense") !== true) continue;
    const path = module.text("path") ?? "";
    const file = `${path}/model.safetensors`;
    const weights = DENSE.test(path) ? await sibling(file) : undefined;
    if (weights === undefined)
      throw new WorkbenchError("INPUT_SPLIT", `[${name}] modules.json names ${quote(path)}: missing ${quote(file)}`, {
        hint: "Download the model's folder with the folders in it, and open it by its path.",
        details: { missing: [file] },
      });
    found.push({
      path,
      config: await json(`${path}/config.json`),
      weights: await readSafetensors(weights, signal),
    });
  }
  return found;
}

/** Keys and tensors of two matrices without biases, for the family that has them. */
export function projection(
  { architecture, hasProjection }: HfFamily,
  name: string,
  modules: readonly DenseModule[],
): { readonly keys: Keys; readonly tensors: readonly NamedTensor[] } {
  if (modules.length === 0) return { keys: {}, tensors: [] };
  const unknown = (got: string, expected: string): WorkbenchError =>
    new WorkbenchError("UNSUPPORTED_ARCHITECTURE", `[${name}] modules.json: got ${got}, expected ${expected}`, {
      hint: "Its vectors would be others without it.",
    });
  if (hasProjection !== true) throw unknown(modules[0]?.path ?? "", `no matrix behind ${architecture}`);
  if (modules.length !== 2) throw unknown(`${modules.length} matrices`, "2");
  const keys: Record<string, number> = {};
  const tensors = modules.map(({ path, config, weights }, i): NamedTensor => {
    const activation = config.text("activation_function") ?? "Identity";
    if (!activation.endsWith("Identity")) throw unknown(`${path} with ${quote(activation)}`, "none behind a matrix");
    const [tensor, ...others] = weights.tensors;
    if (tensor?.name !== "linear.weight" || others.length > 0)
      throw unknown(`${path} with ${weights.tensors.map((one) => quote(one.name)).join(", ")}`, '"linear.weight"');
    const bytes = storedBytes({ file: weights, tensor });
    const to = `dense_${i + 2}`;
    [keys[`${to}_feat_in`], keys[`${to}_feat_out`]] = [bytes.dims[0] ?? 0, bytes.dims[1] ?? 0];
    return [`${to}.weight`, bytes];
  });
  return { keys, tensors };
}
