/**
 * The list of ops: one line each. The table is what the IR sees; `opBuilder` makes the typed builder over a graph builder.
 * A test checks that every op file is listed here under its own name.
 */
import type { GraphBuilder } from "../ir/builder.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import type { OpTable } from "../ir/opTable.ts";
import type { Value } from "../ir/graph.ts";
import { add } from "./binary/add.ts";
import type { AnyOp } from "./defineOp.ts";
import { eraseOp } from "./defineOp.ts";
import type { OpBuilder } from "./opBuilder.ts";

export const OPS = {
  add,
} as const;

export type OpList = typeof OPS;
export type OpName = keyof OpList;

const ERASED: ReadonlyMap<string, AnyOp> = new Map(Object.entries(OPS).map(([name, op]) => [name, eraseOp(op)]));

export const opTable: OpTable = { get: (name) => ERASED.get(name), names: [...ERASED.keys()] };

export const opOf = (name: string): AnyOp | undefined => ERASED.get(name);

/** The typed builder over a graph builder (or a pass's replacement). */
export function opBuilder(graph: OpBuilder["graph"]): OpBuilder {
  const methods: Record<
    string,
    (inputs: readonly Value[], attrs?: AttrRecord, label?: string) => Value | readonly Value[]
  > = {};
  for (const op of ERASED.values())
    methods[op.name] = (inputs, attrs = {}, label) => {
      const given = inputs.filter((input) => input !== undefined);
      const outputs = graph.apply(op.name, given, attrs, label === undefined ? {} : { label });
      const [only] = outputs;
      return op.outputCount === "one" && only !== undefined ? only : outputs;
    };
  return {
    ...methods,
    constant: graph.constant,
    typeOf: (value: Value) => graph.typeOf(value),
    graph,
  } as unknown as OpBuilder;
}

export const typedBuilder = (builder: GraphBuilder): OpBuilder =>
  opBuilder({
    apply: (op, inputs, attrs, options) => builder.apply(op, inputs, attrs, options),
    typeOf: (value) => builder.typeOf(value),
    constant: (tensor) => builder.constant(tensor),
  });
