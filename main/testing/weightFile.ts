/** A file of weights for small test graphs, and random but sane blocks of packed types. */
import { finish } from "../ir/steps.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AttrRecord } from "../ir/attributes.ts";
import type { Graph } from "../ir/graph.ts";
import type { PackedType } from "../ir/dtype.ts";
import { blockLayout, isPacked } from "../ir/dtype.ts";
import { specialize } from "../ir/specialize.ts";
import type { TensorType } from "../ir/type.ts";
import { PACKED } from "../quant/registry.ts";
import type { AnyOp, Sample } from "../ops/defineOp.ts";
import { opTable } from "../ops/index.ts";
import { sampleGraph } from "../ops/sampleData.ts";
import { seededRandom } from "./random.ts";

export interface WeightFile {
  readonly paths: readonly string[];
  readonly locate: (
    file: string,
    tensor: string,
  ) => { readonly file: number; readonly offset: number; readonly bytes: number };
  readonly remove: () => void;
}

/** The graph of a sample, the sizes of its packed operands bound: what lies in a file has sizes. */
export function storedGraph(op: AnyOp, sample: Sample<AttrRecord>): Graph {
  const stored = sample.inputs.filter(({ type }) => isPacked(type.dtype)).flatMap(({ type }) => type.shape);
  const bindings = Object.entries(sample.bindings ?? {}).filter(([symbol]) => stored.includes(symbol));
  return finish(specialize(opTable, sampleGraph(op, sample), Object.fromEntries(bindings)));
}

/** One file with the bytes of every param of the graph. */
export function weightFile(graph: Graph, bytesOf: (name: string, type: TensorType) => Uint8Array): WeightFile {
  const folder = mkdtempSync(join(tmpdir(), "rlx-weights-"));
  const path = join(folder, "weights.bin");
  const places = new Map<string, { readonly file: number; readonly offset: number; readonly bytes: number }>();
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const node of graph.nodes) {
    const tensor = String(node.attrs["tensor"]);
    const [type] = node.outputs;
    if (node.op !== "param" || type === undefined || places.has(tensor)) continue;
    const bytes = bytesOf(String(node.attrs["name"]), type);
    const padded = new Uint8Array(Math.ceil(bytes.length / 32) * 32);
    padded.set(bytes);
    places.set(tensor, { file: 0, offset, bytes: bytes.length });
    parts.push(padded);
    offset += padded.length;
  }
  // A graph without weights has a file too, and an empty one is refused.
  writeFileSync(path, Buffer.concat([...parts, new Uint8Array(32)]));
  return {
    paths: [path],
    locate: (_file, tensor) => {
      const place = places.get(tensor);
      if (place === undefined) throw new Error(`no weight ${tensor}`);
      return place;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Random codes; factors between 2^-7 and 2^-5, so that the values stay near one. */
export function packedBytes(type: PackedType, elements: number, seed: number): Uint8Array<ArrayBuffer> {
  const random = seededRandom(seed);
  const { elements: perBlock, bytes: blockBytes } = blockLayout(type);
  const bytes = new Uint8Array((elements / perBlock) * blockBytes).map(() => random.integer(256));
  const view = new DataView(bytes.buffer);
  const { factors, exponents = [], minifloats = [], quarters = [] } = PACKED[type];
  for (let block = 0; block < bytes.length; block += blockBytes) {
    for (const at of factors) view.setUint16(block + at, 0x2000 + random.integer(0x800), true);
    for (const at of exponents) bytes[block + at] = 118 + random.integer(8);
    if (type === "q8_k") view.setFloat32(block, 2 ** -7, true);
    for (const at of minifloats) bytes[block + at] = random.integer(16);
    // 2^-7: only the top quarter has bits.
    quarters.forEach((at, i) => (bytes[block + at + 1] = (bytes[block + at + 1]! & 15) | (i === 3 ? 0x20 : 0)));
  }
  return bytes;
}
