/** What a palette loses of a model's weights, from some groups of rows of some matrices: enough for the word of an advice. */
import { reconstruct, RowConverter } from "../../backends/coreml/weights/convert.ts";
import type { PaletteBits } from "../../backends/coreml/weights/forms.ts";
import { storedForm } from "../../backends/coreml/weights/forms.ts";
import { fileBytes } from "../../backends/coreml/weights/plan.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { relativeOf, spread } from "./weightErrors.ts";
import type { OpenModel } from "./openModel.ts";
import type { TaskKind } from "./taskCache.ts";
import { tasksOf } from "./taskCache.ts";

const ERROR: TaskKind<number | undefined> = { name: "palette error", keep: 3 };

/** Matrices, and groups of rows in each. */
const [TENSORS, GROUPS] = [6, 2];
/** Longer rows would make one group a large part of the file. */
const MOST_COLUMNS = 32_768;

export function paletteErrorOf(model: OpenModel, bits: PaletteBits, signal: AbortSignal): Promise<number | undefined> {
  const { file } = model;
  if (file?.hasData !== true) return Promise.resolve(undefined);
  return tasksOf(model).get(ERROR, String(bits), signal, (own) => paletteError(file, bits, own));
}

async function paletteError(file: GgufFile, bits: PaletteBits, signal: AbortSignal): Promise<number | undefined> {
  const wish = { bits, inBytes: false };
  const matrices = file.tensors.flatMap((tensor) => {
    const { shape } = tensor;
    const type = tensor.type.element;
    const form = type && storedForm({ type, shape }, "ane", wish);
    return form?.kind === "palette" && form.rows !== undefined && (shape.at(-1) ?? 0) <= MOST_COLUMNS
      ? [{ tensor, type, form, rows: form.rows }]
      : [];
  });
  let [error, energy] = [0, 0];
  for (const i of spread(matrices.length, TENSORS)) {
    const matrix = matrices[i];
    if (matrix?.type === undefined) continue;
    const { tensor, type, form, rows } = matrix;
    const count = form.perTable;
    for (const group of spread((tensor.shape[0] ?? 0) / rows, GROUPS)) {
      const length = fileBytes(type, count);
      const bytes = (await file.readTensor(tensor, { offset: group * length, length, signal })).slice();
      const exact = dequantize(type, bytes, count);
      const parts = new RowConverter(type, form, 0, dequantize).convert(bytes, count);
      const stored = reconstruct(form, parts, count, 0);
      for (let k = 0; k < count; k++) {
        const value = exact[k] as number;
        const lost = (stored[k] as number) - value;
        // What f16 cannot hold is the export's to report.
        if (!Number.isFinite(lost)) continue;
        error += lost * lost;
        energy += value * value;
      }
    }
  }
  return energy === 0 ? undefined : relativeOf(error, energy);
}
