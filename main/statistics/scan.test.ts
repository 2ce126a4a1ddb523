/** Tensors of uncommon shapes: rows longer than a piece, vectors, wide integers, and types that cannot be unpacked. */
import { expect, it } from "vitest";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import type { GgmlType } from "../formats/gguf/types.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { checkFile, checkTensor } from "./check.ts";
import { measurer } from "./measureRows.ts";
import { scanTensor } from "./scan.ts";
import { pageOfValues } from "./values.ts";

const measure = measurer(undefined);

/** A file of one tensor, as far as it is read here. */
function fileOf(typeName: string, dims: readonly number[], bytes: Uint8Array): readonly [GgufFile, GgufTensor] {
  const type: GgmlType = ggmlTypeByName(typeName)!;
  const elements = dims.reduce((product, size) => product * size, 1);
  const shape = dims.toReversed();
  const place = { part: 0, offset: 0, byteLength: bytes.byteLength };
  const tensor: GgufTensor = { name: "t.weight", type, dims, shape, elements, ...place };
  const file = {
    name: "t.gguf",
    tensor: () => tensor,
    readTensor: (_: GgufTensor, { offset = 0, length = 0 }) => Promise.resolve(bytes.slice(offset, offset + length)),
  };
  return [file as unknown as GgufFile, tensor];
}

it("reads rows that are longer than a piece in parts", async () => {
  const columns = (1 << 22) + 256;
  const values = new Uint16Array(2 * columns);
  values.fill(0x3f80, columns);
  values[2 * columns - 3] = 0x7fc0;
  const changed = values.slice();
  changed[columns + 7] = 0xbf80;
  const [file, tensor] = fileOf("bf16", [columns, 2], new Uint8Array(values.buffer));
  const [against] = fileOf("bf16", [columns, 2], new Uint8Array(changed.buffer));
  const scan = await scanTensor(file, tensor, { measure, against, bars: 2 });
  expect(scan).toMatchObject({
    ...{ min: 0, max: 1, zeros: columns, nans: 1, finite: 2 * columns - 1, deadRows: 1, firstDead: { row: 0 } },
    firstNotFinite: { row: 1, column: columns - 3 },
    histogram: { counts: [columns, columns - 1] },
    difference: { compared: 2 * columns - 1, worst: { place: { row: 1 } } },
  });
  expect(scan.difference!.rmse).toBeCloseTo(2 / Math.sqrt(2 * columns - 1), 12);
  expect(scan.mean).toBeCloseTo((columns - 1) / (2 * columns - 1), 12);
});

it("keeps what f32 cannot hold", async () => {
  const doubles = Float64Array.of(1e300, -1e-300, 0.1, Infinity);
  const [file, tensor] = fileOf("f64", [4], new Uint8Array(doubles.buffer));
  expect(await scanTensor(file, tensor, { measure })).toMatchObject({ max: 1e300, min: -1e-300, infinities: 1 });
  const page = await pageOfValues(file, tensor, { matrix: 0, row: 0, column: 1, rows: 5, columns: 9 });
  expect([page.rows, page.columns, ...page.values]).toEqual([1, 3, -1e-300, 0.1, Infinity]);
  const [whole, counts] = fileOf("i32", [2, 1], new Uint8Array(Int32Array.of(16_777_217, -5).buffer));
  expect((await scanTensor(whole, counts, { measure })).max).toBe(16_777_217);
});

it("takes zeros in a vector for odd, and in a bias for nothing", async () => {
  const [file, tensor] = fileOf("f32", [8], new Uint8Array(32));
  expect((await checkTensor(file, tensor, { measure })).findings).toMatchObject([
    { kind: "odd", sentence: "nothing but zeros" },
  ]);
  expect((await checkTensor(file, { ...tensor, name: "t.bias" }, { measure })).findings).toEqual([]);
});

it("leaves out what cannot be unpacked, and refuses to look at it", async () => {
  const [file, tensor] = fileOf("q8_1", [32], new Uint8Array(36));
  expect(await checkTensor(file, tensor, { measure })).toEqual({ scan: null, findings: [] });
  await expect(scanTensor(file, tensor, { measure })).rejects.toMatchObject({ code: "UNSUPPORTED_TENSOR_TYPE" });
});

it("gives no verdict on what it could not read", async () => {
  const [file, tensor] = fileOf("q8_1", [32], new Uint8Array(36));
  const verdictOf = async (tensors: readonly GgufTensor[]) => {
    const { verdict, sentence } = await checkFile({ ...file, parts: [], tensors } as unknown as GgufFile, { measure });
    return [verdict, sentence];
  };
  expect(await verdictOf([])).toEqual(["odd", "There are no tensors to check."]);
  expect(await verdictOf([tensor])).toEqual([
    "odd",
    "Nothing was checked. 1 tensor of a type that cannot be unpacked was left out.",
  ]);
});

it("leaves out a tensor that cannot be put in order, and checks the others", async () => {
  const [file, tensor] = fileOf("f32", [2], new Uint8Array(Float32Array.of(1, 2).buffer));
  const other = { ...tensor, name: "big.weight" };
  const readTensor: GgufFile["readTensor"] = (of, range) => {
    if (of.name === tensor.name) return file.readTensor(of, range);
    return Promise.reject(new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", "in big-endian order"));
  };
  const both = { ...file, parts: [], tensors: [other, tensor], readTensor } as unknown as GgufFile;
  expect(await checkFile(both, { measure })).toMatchObject({ verdict: "sound", unread: 1, findings: [] });
});
