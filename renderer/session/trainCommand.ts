/** The command line of a training: its recipe with options, or the spec itself where options do not say all of it. */
import type { TrainSpec } from "../../main/contract/views/train.ts";
import { quote } from "./quote.ts";

const flag = (name: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [name, quote(String(value))];

/** null: there is more in it than the options say. */
function optionsOf(spec: TrainSpec): readonly string[] | null {
  const { recipe, data, steps, batch, optimizer, lr, precision, device, fused, seed, fields, ...more } = spec;
  const { accumulate, average, validation, sample, checkpoint, resume, output, ...unsaid } = more;
  const isUsual =
    Object.keys(optimizer?.options ?? {}).length === 0 &&
    (validation === undefined || validation.share === 0.1) &&
    (sample === undefined || (sample.tokens === 100 && sample.temperature === 0.8)) &&
    (checkpoint === undefined || checkpoint.every > 0) &&
    fused !== true;
  if (!isUsual || Object.keys(unsaid).length > 0) return null;
  return [
    quote(recipe),
    ...flag("--data", data?.kind === "path" ? data.path : undefined),
    ...[...flag("--steps", steps), ...flag("--batch", batch)],
    ...[...flag("--accumulate", accumulate), ...flag("--average", average)],
    ...[...flag("--optimizer", optimizer?.name), ...flag("--lr", lr)],
    ...[...flag("--precision", precision), ...flag("--device", device)],
    ...(fused === false ? ["--on-host"] : []),
    ...flag("--seed", seed),
    ...flag("--validate-every", validation?.every),
    ...[...flag("--sample-every", sample?.every), ...flag("--prompt", sample?.prompt)],
    ...[...flag("--checkpoint", checkpoint?.path), ...flag("--checkpoint-every", checkpoint?.every)],
    ...flag("--resume", resume),
    ...flag("--out", output?.path),
    ...(output?.overwrite === true ? ["--overwrite"] : []),
    ...Object.entries(fields ?? {}).flatMap(([id, value]) => flag("--field", `${id}=${value}`)),
  ];
}

/** null: a model that was sent here is in no other program's reach. */
export function trainText(spec: TrainSpec): string | null {
  if (spec.model?.kind === "open") return null;
  const options = optionsOf(spec);
  return options === null
    ? `echo ${quote(JSON.stringify(spec))} | rlx train -`
    : ["rlx", "train", ...options].join(" ");
}
