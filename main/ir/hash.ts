/**
 * Content hashing: a 128-bit hash of UTF-8 text or bytes, and the hash of a graph over everything
 * that matters: structure, attributes, types, small constants by value, weights by identity (never
 * their bytes). The hash is MurmurHash3 x64/128 written on 32-bit halves of four lanes (x86/128
 * variant): quick, not cryptographic.
 */
import { attrsText } from "./attributes.ts";
import type { Graph, Node } from "./graph.ts";
import type { HostTensor } from "./hostTensor.ts";
import { formatType } from "./type.ts";

const rotl = (x: number, r: number): number => (x << r) | (x >>> (32 - r));

function finalMix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** MurmurHash3_x86_128 (public domain algorithm), as 32 hex digits. */
export function hashBytes(bytes: Uint8Array, seed = 0): string {
  const c1 = 0x239b961b;
  const c2 = 0xab0e9789;
  const c3 = 0x38b34ae5;
  const c4 = 0xa1e38b93;
  let h1 = seed;
  let h2 = seed;
  let h3 = seed;
  let h4 = seed;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks = bytes.length - (bytes.length % 16);
  for (let i = 0; i < blocks; i += 16) {
    h1 ^= Math.imul(rotl(Math.imul(view.getUint32(i, true), c1), 15), c2);
    h1 = (Math.imul(rotl(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotl(Math.imul(view.getUint32(i + 4, true), c2), 16), c3);
    h2 = (Math.imul(rotl(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotl(Math.imul(view.getUint32(i + 8, true), c3), 17), c4);
    h3 = (Math.imul(rotl(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotl(Math.imul(view.getUint32(i + 12, true), c4), 18), c1);
    h4 = (Math.imul(rotl(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  const tail = new Uint8Array(16);
  tail.set(bytes.subarray(blocks));
  const end = new DataView(tail.buffer);
  h4 ^= Math.imul(rotl(Math.imul(end.getUint32(12, true), c4), 18), c1);
  h3 ^= Math.imul(rotl(Math.imul(end.getUint32(8, true), c3), 17), c4);
  h2 ^= Math.imul(rotl(Math.imul(end.getUint32(4, true), c2), 16), c3);
  h1 ^= Math.imul(rotl(Math.imul(end.getUint32(0, true), c1), 15), c2);
  h1 ^= bytes.length;
  h2 ^= bytes.length;
  h3 ^= bytes.length;
  h4 ^= bytes.length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = finalMix(h1);
  h2 = finalMix(h2);
  h3 = finalMix(h3);
  h4 = finalMix(h4);
  h1 = (h1 + h2 + h3 + h4) >>> 0;
  h2 = (h2 + h1) >>> 0;
  h3 = (h3 + h1) >>> 0;
  h4 = (h4 + h1) >>> 0;
  return [h1, h2, h3, h4].map((h) => h.toString(16).padStart(8, "0")).join("");
}

const encoder = new TextEncoder();
export const hashText = (text: string): string => hashBytes(encoder.encode(text));

export function hashTensor(value: HostTensor): string {
  const bytes = new Uint8Array(value.data.buffer, value.data.byteOffset, value.data.byteLength);
  return hashText(`${value.dtype}[${value.shape.join(",")}]${hashBytes(bytes)}`);
}

/** One line that says all that matters of a node, given short names of its inputs. Origins and passes do not matter. */
function nodeText(node: Node): string {
  const inputs = node.inputs.map((v) => `${v.node}.${v.output}`).join(",");
  const regions = node.regions.map(graphHash).join(",");
  return `${node.op}(${inputs})${attrsText(node.attrs)}:${node.outputs.map(formatType).join(",")}{${regions}}`;
}

/** Stable content hash: the same graph built twice has the same hash; any change of meaning changes it. */
export function graphHash(graph: Graph): string {
  const lines = graph.nodes.map(nodeText);
  lines.push(`in ${graph.inputs.join(",")}`);
  for (const output of graph.outputs) lines.push(`out ${output.name}=${output.value.node}.${output.value.output}`);
  for (const state of graph.states)
    lines.push(`state ${state.name}=${state.input}>${state.output.node}.${state.output.output}`);
  lines.push(JSON.stringify(Object.entries(graph.symbolLimits).sort(([a], [b]) => (a < b ? -1 : 1))));
  return hashText(lines.join("\n"));
}
