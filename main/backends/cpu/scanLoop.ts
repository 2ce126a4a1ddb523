/**
 * `scan` in a plan: a loop that counts its turns. Rows are gathered by the count; what the turns give is written where it
 * stays, into memory that is there before the loop, so that a turn costs what it computes.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import { addDims, productOf } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { scalar, tensor } from "../../ir/type.ts";
import type { LowerInto } from "./control.ts";
import { emitLoop } from "./control.ts";
import type { DraftInstruction, PlanDraft } from "./draft.ts";
import type { CpuValue } from "./emitter.ts";

export interface ScanLoop {
  readonly carried: number;
  readonly scanned: number;
  readonly length: Dim;
  readonly reverse: boolean;
  readonly body: LowerInto;
}

export function emitScan(
  draft: PlanDraft,
  nodes: readonly number[],
  inputs: readonly CpuValue[],
  types: readonly TensorType[],
  { carried, scanned, length, reverse, body }: ScanLoop,
): readonly CpuValue[] {
  const push = (
    kernel: DraftInstruction["kernel"],
    operands: readonly CpuValue[],
    output: CpuValue,
    params: DraftInstruction["params"] = {},
  ): CpuValue => {
    const instruction = { kernel, inputs: operands.map(({ id }) => id), outputs: [output.id], params, nodes };
    draft.instructions.push(instruction);
    return output;
  };
  const constant = (data: HostTensor): CpuValue =>
    draft.newValue({ dtype: data.dtype, shape: data.shape }, draft.newBuffer({ kind: "constant", data }));
  const whole = (value: number): CpuValue => constant(hostScalar("i32", value));

  // Read by the count of a turn: where its rows are.
  const upwards = push("iota", [], draft.newValue(tensor("i32", [length])), { axis: 0 });
  const places = reverse
    ? push("slice", [upwards], draft.newValue(upwards.type), { starts: [addDims(length, -1)], steps: [-1] })
    : upwards;
  // Filled first, so that the memory is taken before the loop and for all of its turns.
  const made = types.slice(carried).map((type) => push("fill", [zeroOf(constant, type)], draft.newValue(type)));
  const [turns, one, goes] = [whole(0), whole(1), constant(hostScalar("bool", 1))];
  const operands = [turns, ...inputs, ...made, places, one];
  const results = emitLoop(draft, nodes, operands, {
    carried: 1 + carried,
    most: length,
    condition: () => [goes],
    body: (values) => {
      const [turn] = values;
      invariant(turn, "a scan counts its turns");
      const own = values.slice(1, 1 + inputs.length);
      const place = push("gather", [places, turn], draft.newValue(scalar("i32")), { axis: 0 });
      const rowsAt = own.length - scanned;
      const rows = own.slice(rowsAt).map((x) => {
        const type = { dtype: x.type.dtype, shape: x.type.shape.slice(1) };
        return push("gather", [x, place], draft.newValue(type), { axis: 0 });
      });
      const given = body([...own.slice(0, rowsAt), ...rows]);
      made.forEach((all, i) => {
        const row = given[carried + i];
        invariant(row, "a body gives what its node says");
        const size = productOf(row.type.shape);
        const view = (value: CpuValue, shape: readonly Dim[]): CpuValue =>
          draft.newValue({ dtype: value.type.dtype, shape }, draft.bufferOf(value.id));
        push("kv_append", [view(all, [1, length, size]), view(row, [1, 1, size]), place], view(all, [1, length, size]));
      });
      const next = push("add", [turn, one], draft.newValue(scalar("i32")));
      return [next, ...given.slice(0, carried)];
    },
  });
  return [...results.slice(1), ...made];
}

function zeroOf(constant: (data: HostTensor) => CpuValue, { dtype }: TensorType): CpuValue {
  return constant(hostScalar(plainDType(dtype, "scan"), 0));
}
