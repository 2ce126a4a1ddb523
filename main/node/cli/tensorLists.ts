/** `rlx tensors`: groups of the list with sums, what a device holds of each tensor, and the comparison with another file. */
import type { Input, StreamItemOf } from "../../contract/contract.ts";
import type { TensorRow } from "../../contract/views/model.ts";
import type { TensorGrouping, TensorGroups } from "../../contract/views/tensors.ts";
import { TENSOR_GROUPS } from "../../contract/views/tensors.ts";
import type { Backend } from "../../contract/views/graph.ts";
import { backend as backends } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions } from "./client.ts";
import { targetOf, unfinished } from "./client.ts";
import { phaseOf } from "./graph.ts";
import { tensorRows } from "./inspect.ts";
import { bytesText, figureText } from "./output.ts";
import { percentDone } from "./writing.ts";

export type Comparison = Extract<StreamItemOf<"tensors.compare">, { readonly kind: "done" }>;

type Held = NonNullable<Input<"tensors.groups">["held"]>;

export interface Listed {
  readonly model: string;
  readonly query: string;
  readonly group: TensorGrouping;
  readonly held: Held | null;
  readonly against: string | null;
}

/** "--for cpu", or nothing. */
export async function heldOf(
  command: Command,
  options: CommonOptions & { readonly for?: string },
): Promise<Held | null> {
  if (options.for === undefined) return null;
  const asked = options.for.toLowerCase();
  const found: Backend | undefined = backends.options.find((id) => id === asked);
  if (found === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx tensors] --for: got ${asked === "" ? "nothing" : asked}, expected one of ${backends.options.join(", ")}`,
      { hint: "With coreml, --units, --profile and --chip say which target." },
    );
  return { subject: { backend: found, target: await targetOf(command, options) }, phase: phaseOf(options) };
}

export function groupingOf(text: string | undefined): TensorGrouping {
  const found = TENSOR_GROUPS.find((id) => id === (text ?? "none"));
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx tensors] --group: got ${text === "" ? "nothing" : String(text)}, expected one of ${TENSOR_GROUPS.join(", ")}`,
  );
}

/** Sums of groups; without them each tensor with what is held of it. */
export async function printList(command: Command, listed: Listed): Promise<undefined> {
  const { client, output, signal } = command;
  const groups = await client.call("tensors.groups", listed, { signal });
  if (listed.group === "none") {
    const rows = await tensorRows(command, listed.model, listed.query, listed.held);
    output.value({ heldAs: groups.heldAs, sum: groups.sum, tensors: rows });
    printHeld(command, rows);
  } else {
    output.value(groups);
    printGroups(command, groups);
  }
  const { sum } = groups;
  const held = sum.heldBytes === null ? "" : `, ${bytesText(sum.heldBytes)} on the device`;
  output.line(
    `\n${sum.tensors} tensors, ${sum.parameters} parameters, ${bytesText(sum.bytes)}, ${bits(sum.bitsPerWeight)} bits each${held}`,
  );
  if (groups.heldAs !== null) output.line(groups.heldAs);
  return undefined;
}

const bits = (value: number): string => String(Number(value.toPrecision(3)));
const percent = (value: number): string => `${Number((100 * value).toPrecision(3))} %`;

function printGroups({ output }: Command, { groups, sum }: TensorGroups): void {
  const isHeld = sum.heldBytes !== null;
  const isCompared = sum.error !== null;
  output.table(
    [
      "group",
      "tensors",
      "parameters",
      "bits",
      "bytes",
      ...(isHeld ? ["on device"] : []),
      ...(isCompared ? ["error"] : []),
    ],
    groups.map((group) => [
      ...[group.title, String(group.tensors), String(group.parameters), bits(group.bitsPerWeight)],
      bytesText(group.bytes),
      ...(isHeld ? [bytesText(group.heldBytes ?? 0)] : []),
      ...(isCompared ? [group.error === null ? "–" : percent(group.error)] : []),
    ]),
    { right: [1, 2, 3, 4, 5, 6], yields: 0 },
  );
}

function printHeld({ output }: Command, rows: readonly TensorRow[]): void {
  output.table(
    ["name", "type", "shape", "bytes", "on device", "held as"],
    rows.map(({ name, type, shape, bytes, held }) => [
      ...[name, type, shape.join(" × "), bytesText(bytes)],
      ...(held === null ? ["–", "–"] : [bytesText(held.bytes), held.form]),
    ]),
    { right: [3, 4], yields: 5 },
  );
}

export async function compared(
  { client, output, signal }: Command,
  asked: { readonly model: string; readonly against: string; readonly query: string },
): Promise<Comparison> {
  for await (const item of client.stream("tensors.compare", asked, { signal })) {
    if (item.kind === "done") {
      output.endProgress();
      return item;
    }
    output.progress(`${percentDone(item)}  ${item.tensor}`, "comparing");
  }
  throw unfinished(signal);
}

/** The largest errors first. */
export function printCompared({ output }: Command, done: Comparison): void {
  output.value(done);
  const size = ({ relative }: Comparison["rows"][number]): number => relative ?? Infinity;
  const number = (value: number | null): string => (value === null ? "–" : String(Number(value.toPrecision(4))));
  output.table(
    ["tensor", "type", "other", "error", "RMSE", "largest", "dB", "cosine"],
    done.rows
      .toSorted((a, b) => size(b) - size(a))
      .map(({ tensor, type, theirs, relative, rmse, farthest, decibels, cosine }) => [
        ...[tensor, type, theirs, relative === null ? "∞" : percent(relative), number(rmse)],
        ...[number(farthest?.difference ?? null), relative === 0 ? "∞" : number(decibels), number(cosine)],
      ]),
    { right: [3, 4, 5, 6, 7], yields: 0 },
  );
  output.line(`\n${done.sentence} ${figureText(done.seconds)}`);
  for (const { tensor, why } of done.left) output.line(`Not compared: ${tensor}: ${why}`);
  if (done.moreLeft > 0) output.line(`and ${done.moreLeft} more`);
  if (done.onlyThere.length > 0) {
    const more = done.moreOnlyThere > 0 ? `, and ${done.moreOnlyThere} more` : "";
    output.line(`Only in ${done.file}: ${done.onlyThere.join(", ")}${more}`);
  }
}
