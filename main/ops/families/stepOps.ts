/** The ops that may be steps of a region, by name: inference and reference of each step are its op's own. */
import type { AnyOp } from "../defineOp.ts";
import { eraseOp } from "../defineOp.ts";
import { add } from "../binary/add.ts";
import { atan2 } from "../binary/atan2.ts";
import { compare } from "../binary/compare.ts";
import { div } from "../binary/div.ts";
import { logical_and } from "../binary/logical_and.ts";
import { logical_or } from "../binary/logical_or.ts";
import { logical_xor } from "../binary/logical_xor.ts";
import { maximum } from "../binary/maximum.ts";
import { minimum } from "../binary/minimum.ts";
import { mod } from "../binary/mod.ts";
import { mul } from "../binary/mul.ts";
import { pow } from "../binary/pow.ts";
import { sub } from "../binary/sub.ts";
import { cast } from "../shape/cast.ts";
import { where } from "../shape/where.ts";
import { abs } from "../unary/abs.ts";
import { acos } from "../unary/acos.ts";
import { acosh } from "../unary/acosh.ts";
import { asin } from "../unary/asin.ts";
import { asinh } from "../unary/asinh.ts";
import { atan } from "../unary/atan.ts";
import { atanh } from "../unary/atanh.ts";
import { ceil } from "../unary/ceil.ts";
import { cos } from "../unary/cos.ts";
import { cosh } from "../unary/cosh.ts";
import { erf } from "../unary/erf.ts";
import { exp } from "../unary/exp.ts";
import { expm1 } from "../unary/expm1.ts";
import { floor } from "../unary/floor.ts";
import { gelu } from "../unary/gelu.ts";
import { log } from "../unary/log.ts";
import { log1p } from "../unary/log1p.ts";
import { logical_not } from "../unary/logical_not.ts";
import { neg } from "../unary/neg.ts";
import { reciprocal } from "../unary/reciprocal.ts";
import { relu } from "../unary/relu.ts";
import { round } from "../unary/round.ts";
import { rsqrt } from "../unary/rsqrt.ts";
import { sigmoid } from "../unary/sigmoid.ts";
import { sign } from "../unary/sign.ts";
import { silu } from "../unary/silu.ts";
import { sin } from "../unary/sin.ts";
import { sinh } from "../unary/sinh.ts";
import { softplus } from "../unary/softplus.ts";
import { sqrt } from "../unary/sqrt.ts";
import { square } from "../unary/square.ts";
import { tan } from "../unary/tan.ts";
import { tanh } from "../unary/tanh.ts";
import { trunc } from "../unary/trunc.ts";

const LIST = [
  add,
  atan2,
  compare,
  div,
  logical_and,
  logical_or,
  logical_xor,
  maximum,
  minimum,
  mod,
  mul,
  pow,
  sub,
  cast,
  where,
  abs,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  ceil,
  cos,
  cosh,
  erf,
  exp,
  expm1,
  floor,
  gelu,
  log,
  log1p,
  logical_not,
  neg,
  reciprocal,
  relu,
  round,
  rsqrt,
  sigmoid,
  sign,
  silu,
  sin,
  sinh,
  softplus,
  sqrt,
  square,
  tan,
  tanh,
  trunc,
];

export const STEP_OPS: ReadonlyMap<string, AnyOp> = new Map(LIST.map((op) => [op.name, eraseOp(op)]));
