/**
 * What an op file sees of the CoreML backend: a writer of MIL operations.
 * Only types: op files have no run-time tie to any backend.
 */
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";

export interface MilValue {
  readonly name: string;
  readonly type: TensorType;
}

export type MilArgument =
  MilValue | readonly MilValue[] | number | boolean | string | readonly number[] | readonly boolean[];

export interface CoremlEmitter {
  /** The dtype floats are computed in. */
  readonly floatType: "f16" | "f32";
  /** One MIL operation with one output; defaulted arguments are filled in. Types of outputs are inferred and checked. */
  readonly op: (type: string, args: Readonly<Record<string, MilArgument>>) => MilValue;
  /** One MIL operation with several outputs (topk, split). */
  readonly ops: (type: string, args: Readonly<Record<string, MilArgument>>) => readonly MilValue[];
  readonly constant: (tensor: HostTensor) => MilValue;
}
