/**
 * The list of ops: one line each. The table is what the IR sees; `opBuilder` makes the typed
 * builder over a graph builder. A test checks that every op file is listed here under its own name.
 */
import { GraphBuilder } from "../ir/builder.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { OpTable } from "../ir/opTable.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { attention } from "./attention/attention.ts";
import { attention_cached } from "./attention/attention_cached.ts";
import { kv_append } from "./attention/kv_append.ts";
import { rope } from "./attention/rope.ts";
import { rope_table } from "./attention/rope_table.ts";
import { add } from "./binary/add.ts";
import { compare } from "./binary/compare.ts";
import { div } from "./binary/div.ts";
import { maximum } from "./binary/maximum.ts";
import { minimum } from "./binary/minimum.ts";
import { mul } from "./binary/mul.ts";
import { pow } from "./binary/pow.ts";
import { sub } from "./binary/sub.ts";
import { ifOp } from "./control/if.ts";
import { whileOp } from "./control/while.ts";
import { attention_block } from "./fused/attention_block.ts";
import { linear_block } from "./fused/linear_block.ts";
import { dequantize } from "./linalg/dequantize.ts";
import { dot_general } from "./linalg/dot_general.ts";
import { linear } from "./linalg/linear.ts";
import { linear_grouped } from "./linalg/linear_grouped.ts";
import { matmul } from "./linalg/matmul.ts";
import { batch_norm_inference } from "./norm/batch_norm_inference.ts";
import { group_norm } from "./norm/group_norm.ts";
import { layer_norm } from "./norm/layer_norm.ts";
import { layer_norm2d } from "./norm/layer_norm2d.ts";
import { rms_norm } from "./norm/rms_norm.ts";
import { gated_delta } from "./recurrent/gated_delta.ts";
import { selective_scan } from "./recurrent/selective_scan.ts";
import { short_conv_cached } from "./recurrent/short_conv_cached.ts";
import { wkv7 } from "./recurrent/wkv7.ts";
import { argmax } from "./reduce/argmax.ts";
import { argmin } from "./reduce/argmin.ts";
import { cumsum } from "./reduce/cumsum.ts";
import { reduce } from "./reduce/reduce.ts";
import { softmax } from "./reduce/softmax.ts";
import { topk } from "./reduce/topk.ts";
import { cast } from "./shape/cast.ts";
import { concat } from "./shape/concat.ts";
import { expand } from "./shape/expand.ts";
import { gather } from "./shape/gather.ts";
import { iota } from "./shape/iota.ts";
import { narrow } from "./shape/narrow.ts";
import { reshape } from "./shape/reshape.ts";
import { reverse } from "./shape/reverse.ts";
import { scatter_add } from "./shape/scatter_add.ts";
import { split } from "./shape/split.ts";
import { transpose } from "./shape/transpose.ts";
import { where } from "./shape/where.ts";
import { custom } from "./signal/custom.ts";
import { fft } from "./signal/fft.ts";
import { lstm } from "./signal/lstm.ts";
import { abs } from "./unary/abs.ts";
import { cos } from "./unary/cos.ts";
import { erf } from "./unary/erf.ts";
import { exp } from "./unary/exp.ts";
import { floor } from "./unary/floor.ts";
import { gelu } from "./unary/gelu.ts";
import { log } from "./unary/log.ts";
import { neg } from "./unary/neg.ts";
import { relu } from "./unary/relu.ts";
import { round } from "./unary/round.ts";
import { rsqrt } from "./unary/rsqrt.ts";
import { sigmoid } from "./unary/sigmoid.ts";
import { sign } from "./unary/sign.ts";
import { silu } from "./unary/silu.ts";
import { sin } from "./unary/sin.ts";
import { softplus } from "./unary/softplus.ts";
import { sqrt } from "./unary/sqrt.ts";
import { stop_gradient } from "./unary/stop_gradient.ts";
import { tanh } from "./unary/tanh.ts";
import { conv } from "./window/conv.ts";
import { conv_transpose } from "./window/conv_transpose.ts";
import { pool } from "./window/pool.ts";
import { resize_nearest2x } from "./window/resize_nearest2x.ts";
import type { AnyOp } from "./defineOp.ts";
import { eraseOp } from "./defineOp.ts";
import type { OpBuilder, RegionMaker } from "./opBuilder.ts";

export const OPS = {
  abs,
  add,
  argmax,
  argmin,
  attention,
  attention_block,
  attention_cached,
  batch_norm_inference,
  cast,
  compare,
  concat,
  conv,
  conv_transpose,
  cos,
  cumsum,
  custom,
  dequantize,
  div,
  dot_general,
  erf,
  exp,
  expand,
  fft,
  floor,
  gated_delta,
  gather,
  gelu,
  group_norm,
  if: ifOp,
  iota,
  kv_append,
  layer_norm,
  layer_norm2d,
  linear,
  linear_block,
  linear_grouped,
  log,
  lstm,
  matmul,
  maximum,
  minimum,
  mul,
  narrow,
  neg,
  pool,
  pow,
  reduce,
  relu,
  reshape,
  resize_nearest2x,
  reverse,
  rms_norm,
  rope,
  rope_table,
  round,
  rsqrt,
  scatter_add,
  selective_scan,
  short_conv_cached,
  sigmoid,
  sign,
  silu,
  sin,
  softmax,
  softplus,
  split,
  sqrt,
  stop_gradient,
  sub,
  tanh,
  topk,
  transpose,
  where,
  while: whileOp,
  wkv7,
} as const;

export type OpList = typeof OPS;
export type OpName = keyof OpList;

const ERASED: ReadonlyMap<string, AnyOp> = new Map(Object.entries(OPS).map(([name, op]) => [name, eraseOp(op)]));

export const opTable: OpTable = { get: (name) => ERASED.get(name), names: [...ERASED.keys()] };

export const opOf = (name: string): AnyOp | undefined => ERASED.get(name);

/** One method per op, made once; a builder is an object over them. */
type BuilderBase = Pick<OpBuilder, "graph">;
const METHODS: Record<
  string,
  (
    this: BuilderBase,
    inputs: readonly Value[],
    attrs?: AttrRecord,
    label?: string,
    regions?: readonly Graph[],
  ) => Value | readonly Value[]
> = {};
for (const { name, outputCount } of ERASED.values())
  METHODS[name] = function (inputs, attrs = {}, label, regions) {
    // Optional operands at the end may be given as undefined.
    const given = inputs.includes(undefined as never) ? inputs.filter((input) => input !== undefined) : inputs;
    const named = label === undefined ? {} : { label };
    const outputs = this.graph.apply(name, given, attrs, regions === undefined ? named : { ...named, regions });
    const [only] = outputs;
    return outputCount === "one" && only !== undefined ? only : outputs;
  };

/** The typed builder over a graph builder (or a pass's replacement). */
export function opBuilder(graph: OpBuilder["graph"]): OpBuilder {
  const base = Object.create(METHODS) as object;
  return Object.assign(base, {
    graph,
    constant: (tensor: HostTensor) => graph.constant(tensor),
    typeOf: (value: Value) => graph.typeOf(value),
    region: makeRegion,
  }) as unknown as OpBuilder;
}

/** A sub-graph: inputs `x0 …`, outputs `y0 …`. */
export const makeRegion: RegionMaker = (name, inputs, build) => {
  const builder = new GraphBuilder(opTable, name);
  const operands = inputs.map((type, i) => builder.input(`x${i}`, type));
  build(typedBuilder(builder), ...operands).forEach((value, i) => builder.output(`y${i}`, value));
  return builder.finish();
};

export const typedBuilder = (builder: GraphBuilder): OpBuilder =>
  opBuilder({
    apply: (op, inputs, attrs, options) => builder.apply(op, inputs, attrs, options),
    typeOf: (value) => builder.typeOf(value),
    constant: (tensor, options) => builder.constant(tensor, options),
  });
