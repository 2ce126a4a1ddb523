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
import { attention_packed } from "./attention/attention_packed.ts";
import { axial_rope_2d } from "./attention/axial_rope_2d.ts";
import { attention_cached } from "./attention/attention_cached.ts";
import { kv_append } from "./attention/kv_append.ts";
import { kv_append_packed } from "./attention/kv_append_packed.ts";
import { mrope_table } from "./attention/mrope_table.ts";
import { rope } from "./attention/rope.ts";
import { rope_table } from "./attention/rope_table.ts";
import { add } from "./binary/add.ts";
import { atan2 } from "./binary/atan2.ts";
import { bit_and } from "./binary/bit_and.ts";
import { bit_or } from "./binary/bit_or.ts";
import { bit_xor } from "./binary/bit_xor.ts";
import { compare } from "./binary/compare.ts";
import { div } from "./binary/div.ts";
import { logical_and } from "./binary/logical_and.ts";
import { logical_or } from "./binary/logical_or.ts";
import { logical_xor } from "./binary/logical_xor.ts";
import { maximum } from "./binary/maximum.ts";
import { minimum } from "./binary/minimum.ts";
import { mod } from "./binary/mod.ts";
import { mul } from "./binary/mul.ts";
import { pow } from "./binary/pow.ts";
import { shift_left } from "./binary/shift_left.ts";
import { shift_right } from "./binary/shift_right.ts";
import { sub } from "./binary/sub.ts";
import { swiglu_clamped } from "./binary/swiglu_clamped.ts";
import { custom_fn } from "./control/custom_fn.ts";
import { ifOp } from "./control/if.ts";
import { scan } from "./control/scan.ts";
import { whileOp } from "./control/while.ts";
import { attention_block } from "./fused/attention_block.ts";
import { elementwise_region } from "./fused/elementwise_region.ts";
import { linear_block } from "./fused/linear_block.ts";
import { cholesky } from "./linalg/cholesky.ts";
import { dense_solve } from "./linalg/dense_solve.ts";
import { dequantize } from "./linalg/dequantize.ts";
import { det } from "./linalg/det.ts";
import { dot_general } from "./linalg/dot_general.ts";
import { eigh } from "./linalg/eigh.ts";
import { linear } from "./linalg/linear.ts";
import { linear_grouped } from "./linalg/linear_grouped.ts";
import { logdet } from "./linalg/logdet.ts";
import { lora_matmul } from "./linalg/lora_matmul.ts";
import { matmul } from "./linalg/matmul.ts";
import { qr } from "./linalg/qr.ts";
import { svd } from "./linalg/svd.ts";
import { triangular_solve } from "./linalg/triangular_solve.ts";
import { kl } from "./loss/kl.ts";
import { mse } from "./loss/mse.ts";
import { softmax_cross_entropy } from "./loss/softmax_cross_entropy.ts";
import { batch_norm_inference } from "./norm/batch_norm_inference.ts";
import { group_norm } from "./norm/group_norm.ts";
import { layer_norm } from "./norm/layer_norm.ts";
import { layer_norm2d } from "./norm/layer_norm2d.ts";
import { rms_norm } from "./norm/rms_norm.ts";
import { dequantize_affine } from "./quantise/dequantize_affine.ts";
import { dequantize_blocks } from "./quantise/dequantize_blocks.ts";
import { fake_quantize } from "./quantise/fake_quantize.ts";
import { fake_quantize_lsq } from "./quantise/fake_quantize_lsq.ts";
import { qconv2d } from "./quantise/qconv2d.ts";
import { qmatmul } from "./quantise/qmatmul.ts";
import { quantize } from "./quantise/quantize.ts";
import { quantize_blocks } from "./quantise/quantize_blocks.ts";
import { scaled_matmul } from "./quantise/scaled_matmul.ts";
import { to_minifloat } from "./quantise/to_minifloat.ts";
import { from_minifloat } from "./quantise/from_minifloat.ts";
import { bernoulli } from "./random/bernoulli.ts";
import { rng_bits } from "./random/rng_bits.ts";
import { rng_normal } from "./random/rng_normal.ts";
import { rng_uniform } from "./random/rng_uniform.ts";
import { sample } from "./random/sample.ts";
import { gated_delta } from "./recurrent/gated_delta.ts";
import { selective_scan } from "./recurrent/selective_scan.ts";
import { short_conv_cached } from "./recurrent/short_conv_cached.ts";
import { ssd } from "./recurrent/ssd.ts";
import { wkv6 } from "./recurrent/wkv6.ts";
import { wkv7 } from "./recurrent/wkv7.ts";
import { argmax } from "./reduce/argmax.ts";
import { argmin } from "./reduce/argmin.ts";
import { argsort } from "./reduce/argsort.ts";
import { cummax } from "./reduce/cummax.ts";
import { cumprod } from "./reduce/cumprod.ts";
import { cumsum } from "./reduce/cumsum.ts";
import { log_softmax } from "./reduce/log_softmax.ts";
import { logsumexp } from "./reduce/logsumexp.ts";
import { norm } from "./reduce/norm.ts";
import { reduce } from "./reduce/reduce.ts";
import { softmax } from "./reduce/softmax.ts";
import { sort } from "./reduce/sort.ts";
import { topk } from "./reduce/topk.ts";
import { variance } from "./reduce/variance.ts";
import { cast } from "./shape/cast.ts";
import { concat } from "./shape/concat.ts";
import { expand } from "./shape/expand.ts";
import { gather } from "./shape/gather.ts";
import { gather_elements } from "./shape/gather_elements.ts";
import { gather_nd } from "./shape/gather_nd.ts";
import { iota } from "./shape/iota.ts";
import { narrow } from "./shape/narrow.ts";
import { one_hot } from "./shape/one_hot.ts";
import { pad } from "./shape/pad.ts";
import { reshape } from "./shape/reshape.ts";
import { reverse } from "./shape/reverse.ts";
import { roll } from "./shape/roll.ts";
import { scatter_add } from "./shape/scatter_add.ts";
import { scatter_elements } from "./shape/scatter_elements.ts";
import { scatter_nd } from "./shape/scatter_nd.ts";
import { slice } from "./shape/slice.ts";
import { split } from "./shape/split.ts";
import { tile } from "./shape/tile.ts";
import { transpose } from "./shape/transpose.ts";
import { trilu } from "./shape/trilu.ts";
import { where } from "./shape/where.ts";
import { complex_div } from "./signal/complex_div.ts";
import { complex_mul } from "./signal/complex_mul.ts";
import { complex_norm_sq } from "./signal/complex_norm_sq.ts";
import { conjugate } from "./signal/conjugate.ts";
import { custom } from "./signal/custom.ts";
import { fft } from "./signal/fft.ts";
import { from_complex } from "./signal/from_complex.ts";
import { gru } from "./signal/gru.ts";
import { log_mel } from "./signal/log_mel.ts";
import { lstm } from "./signal/lstm.ts";
import { rnn } from "./signal/rnn.ts";
import { to_complex } from "./signal/to_complex.ts";
import { welch_peaks } from "./signal/welch_peaks.ts";
import { abs } from "./unary/abs.ts";
import { acos } from "./unary/acos.ts";
import { acosh } from "./unary/acosh.ts";
import { asin } from "./unary/asin.ts";
import { asinh } from "./unary/asinh.ts";
import { atan } from "./unary/atan.ts";
import { atanh } from "./unary/atanh.ts";
import { bit_not } from "./unary/bit_not.ts";
import { ceil } from "./unary/ceil.ts";
import { clamp } from "./unary/clamp.ts";
import { cos } from "./unary/cos.ts";
import { cosh } from "./unary/cosh.ts";
import { elu } from "./unary/elu.ts";
import { erf } from "./unary/erf.ts";
import { exp } from "./unary/exp.ts";
import { expm1 } from "./unary/expm1.ts";
import { floor } from "./unary/floor.ts";
import { gelu } from "./unary/gelu.ts";
import { hard_sigmoid } from "./unary/hard_sigmoid.ts";
import { hard_swish } from "./unary/hard_swish.ts";
import { is_finite } from "./unary/is_finite.ts";
import { is_nan } from "./unary/is_nan.ts";
import { leaky_relu } from "./unary/leaky_relu.ts";
import { log } from "./unary/log.ts";
import { log1p } from "./unary/log1p.ts";
import { log_sigmoid } from "./unary/log_sigmoid.ts";
import { logical_not } from "./unary/logical_not.ts";
import { mish } from "./unary/mish.ts";
import { neg } from "./unary/neg.ts";
import { reciprocal } from "./unary/reciprocal.ts";
import { relu } from "./unary/relu.ts";
import { relu6 } from "./unary/relu6.ts";
import { relu_squared } from "./unary/relu_squared.ts";
import { round } from "./unary/round.ts";
import { rsqrt } from "./unary/rsqrt.ts";
import { sigmoid } from "./unary/sigmoid.ts";
import { sign } from "./unary/sign.ts";
import { silu } from "./unary/silu.ts";
import { sin } from "./unary/sin.ts";
import { sinh } from "./unary/sinh.ts";
import { softplus } from "./unary/softplus.ts";
import { sqrt } from "./unary/sqrt.ts";
import { square } from "./unary/square.ts";
import { stop_gradient } from "./unary/stop_gradient.ts";
import { tan } from "./unary/tan.ts";
import { tanh } from "./unary/tanh.ts";
import { trunc } from "./unary/trunc.ts";
import { xielu } from "./unary/xielu.ts";
import { conv } from "./window/conv.ts";
import { conv_transpose } from "./window/conv_transpose.ts";
import { interpolate } from "./window/interpolate.ts";
import { pool } from "./window/pool.ts";
import { resize_nearest2x } from "./window/resize_nearest2x.ts";
import { gaussian_splat_render } from "./splat/gaussian_splat_render.ts";
import type { AnyOp } from "./defineOp.ts";
import { eraseOp } from "./defineOp.ts";
import type { OpBuilder, RegionMaker } from "./opBuilder.ts";

export const OPS = {
  abs,
  acos,
  acosh,
  add,
  argmax,
  argmin,
  argsort,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  attention,
  attention_block,
  attention_cached,
  attention_packed,
  axial_rope_2d,
  mrope_table,
  batch_norm_inference,
  bernoulli,
  bit_and,
  bit_not,
  bit_or,
  bit_xor,
  cast,
  ceil,
  cholesky,
  clamp,
  compare,
  complex_div,
  complex_mul,
  complex_norm_sq,
  concat,
  conjugate,
  conv,
  conv_transpose,
  cos,
  cosh,
  cummax,
  cumprod,
  cumsum,
  custom,
  custom_fn,
  dense_solve,
  dequantize,
  dequantize_affine,
  dequantize_blocks,
  det,
  div,
  dot_general,
  eigh,
  elu,
  erf,
  exp,
  expand,
  expm1,
  fake_quantize,
  fake_quantize_lsq,
  fft,
  floor,
  from_complex,
  from_minifloat,
  gated_delta,
  gather,
  gather_elements,
  gather_nd,
  gaussian_splat_render,
  gelu,
  group_norm,
  gru,
  hard_sigmoid,
  hard_swish,
  if: ifOp,
  interpolate,
  iota,
  is_finite,
  is_nan,
  kl,
  kv_append,
  kv_append_packed,
  layer_norm,
  layer_norm2d,
  leaky_relu,
  linear,
  elementwise_region,
  linear_block,
  linear_grouped,
  log,
  log1p,
  log_mel,
  log_sigmoid,
  log_softmax,
  logdet,
  logical_and,
  logical_not,
  logical_or,
  logical_xor,
  logsumexp,
  lora_matmul,
  lstm,
  matmul,
  maximum,
  minimum,
  mish,
  mod,
  mse,
  mul,
  narrow,
  neg,
  norm,
  one_hot,
  pad,
  pool,
  pow,
  qconv2d,
  qmatmul,
  qr,
  quantize,
  quantize_blocks,
  reciprocal,
  reduce,
  relu,
  relu6,
  relu_squared,
  reshape,
  resize_nearest2x,
  reverse,
  rms_norm,
  rng_bits,
  rng_normal,
  rng_uniform,
  rnn,
  roll,
  rope,
  rope_table,
  round,
  rsqrt,
  sample,
  scaled_matmul,
  scan,
  scatter_add,
  scatter_elements,
  scatter_nd,
  selective_scan,
  shift_left,
  shift_right,
  short_conv_cached,
  sigmoid,
  sign,
  silu,
  sin,
  sinh,
  slice,
  softmax,
  softmax_cross_entropy,
  softplus,
  sort,
  split,
  sqrt,
  square,
  ssd,
  stop_gradient,
  sub,
  svd,
  swiglu_clamped,
  tan,
  tanh,
  tile,
  to_complex,
  to_minifloat,
  topk,
  transpose,
  triangular_solve,
  trilu,
  trunc,
  variance,
  welch_peaks,
  where,
  while: whileOp,
  wkv6,
  wkv7,
  xielu,
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
