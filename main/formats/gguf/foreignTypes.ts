/**
 * Tensor types that files carry and ggml does not know: types of forks and of safetensors, types that
 * ggml took back, and numbers that mean something else in an early file. Which of two meanings a number has is told
 * by the bytes up to the next tensor. Such a tensor is looked at and not run; its name says whose
 * type it is.
 */
import type { GgmlType } from "./types.ts";

interface Foreign {
  readonly name: string;
  /** Whose type it is, for the refusal. */
  readonly from: string;
}

const IK = "ik_llama.cpp";
const REMOVED = "a type that ggml has taken back: make the file again with a current llama.cpp";

/** Types of safetensors that no GGUF has; the numbers are of this program alone, for folders that are looked at. */
const SAFETENSORS = [
  "U8",
  "BOOL",
  "U16",
  "U32",
  "U64",
  "C64",
  "F8_E5M2",
  "F8_E4M3",
  "F8_E5M2FNUZ",
  "F8_E4M3FNUZ",
  "F8_E8M0",
  "F6_E2M3",
  "F6_E3M2",
  "F4",
];
const FIRST_SAFETENSORS = 0x53_54_00_00;

const FOREIGN: ReadonlyMap<number, Foreign> = new Map<number, Foreign>([
  ...(
    [
      [4, "q4_2"],
      [5, "q4_3"],
      [31, "q4_0_4_4"],
      [32, "q4_0_4_8"],
      [33, "q4_0_8_8"],
      [36, "iq4_nl_4_4"],
      [37, "iq4_nl_4_8"],
      [38, "iq4_nl_8_8"],
    ] as const
  ).map(([id, name]) => [id, { name, from: REMOVED }] as const),
  ...(
    [
      [133, "q6_0"],
      [134, "iq1_bn"],
      [135, "iq2_bn"],
      [137, "iq2_k"],
      [138, "iq3_k"],
      [139, "iq4_k"],
      [140, "iq5_k"],
      [141, "iq6_k"],
      [144, "iq4_ks"],
      [145, "iq2_ks"],
      [146, "iq4_kss"],
      [152, "iq5_ks"],
      [153, "iq2_kt"],
      [154, "iq3_kt"],
      [155, "iq4_kt"],
      [156, "iq3_ks"],
      [157, "iq2_kl"],
      [158, "iq1_kt"],
    ] as const
  ).map(([id, name]) => [id, { name, from: IK }] as const),
  ...SAFETENSORS.map((name, i) => [FIRST_SAFETENSORS + i, { name: name.toLowerCase(), from: "safetensors" }] as const),
]);

export const safetensorsType = (name: string): GgmlType => foreignType(FIRST_SAFETENSORS + SAFETENSORS.indexOf(name));

/** A type that this program cannot read. */
export function foreignType(id: number): GgmlType {
  const known = FOREIGN.get(id) ?? {
    name: `type ${id}`,
    from: id >= 200 && id < 400 ? `${IK}, with rows interleaved` : "not a type of ggml",
  };
  return foreign(id, known);
}

const foreign = (id: number, { name, from }: Foreign): GgmlType => ({
  id,
  name,
  from,
  blockSize: 1,
  blockBytes: 0,
  element: undefined,
});

/** A second meaning of a number, where a tensor's bytes are those of this one. */
interface Second extends Foreign {
  readonly block: number;
  readonly bytes: number;
  /** Bytes behind the blocks. */
  readonly behind?: number;
}

const SECOND: ReadonlyMap<number, Second> = new Map([
  [4, { name: "mxfp4 (as 4)", from: "an early gpt-oss file of Ollama: get a current one", block: 32, bytes: 17 }],
  [36, { name: "i2_s", from: "BitNet and ik_llama.cpp", block: 4, bytes: 1, behind: 32 }],
  [42, { name: "q2_0 (128)", from: "an early file of PrismML, with groups of 128 values", block: 128, bytes: 34 }],
]);

/** The type of a tensor with `room` bytes up to the next one, or to the end of the data. */
export function typeByRoom(type: GgmlType, elements: number, room: number, alignment: number): GgmlType {
  const second = SECOND.get(type.id);
  if (second === undefined || elements % second.block !== 0) return type;
  const bytes = (elements / second.block) * second.bytes + (second.behind ?? 0);
  const own = (elements / type.blockSize) * type.blockBytes;
  const fits = room >= bytes && room < bytes + alignment;
  return fits && (own === 0 || own > room) ? foreign(type.id, second) : type;
}
