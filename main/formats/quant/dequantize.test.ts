/** Plain numbers of a file as f32. (The packed types: quant.oracle.test.ts.) */
import { expect, it } from "vitest";
import { dequantize } from "./dequantize.ts";

it.each([
  ["f64", new Float64Array([0.1, -1e300, 2 ** -150]), [Math.fround(0.1), -Infinity, 0]],
  ["i8", new Int8Array([-128, 0, 127]), [-128, 0, 127]],
  ["i16", new Int16Array([-32768, 1, 32767]), [-32768, 1, 32767]],
  ["i32", new Int32Array([-(2 ** 31), 3, 2 ** 24 + 1]), [-(2 ** 31), 3, 2 ** 24]],
  ["i64", new BigInt64Array([-(2n ** 63n), 5n, 2n ** 40n]), [-(2 ** 63), 5, 2 ** 40]],
] as const)("%s, from an odd address", (type, values, expected) => {
  const bytes = new Uint8Array(values.byteLength + 1).subarray(1);
  bytes.set(new Uint8Array(values.buffer));
  expect([...dequantize(type, bytes, 3)]).toEqual(expected);
});
