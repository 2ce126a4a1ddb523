/**
 * The source of a GGUF that is nowhere written: its header, and tensors that are read, and changed,
 * when they are asked for. Everything lies where `writeGguf` would put it.
 */
import type { ByteSource, MadeFrom } from "../byteSource.ts";
import type { Piece } from "../madeSource.ts";
import { madeSource, pieceOf } from "../madeSource.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { alignUp } from "./header.ts";
import type { MetadataEntry } from "./values.ts";
import { encodeHeader } from "./write.ts";

export type NamedTensor = readonly [name: string, tensor: TensorBytes];

export interface MadeContents {
  readonly name: string;
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly NamedTensor[];
  readonly made: MadeFrom;
  readonly close: () => Promise<void>;
}

export function madeGguf({ name, entries, tensors, made, close }: MadeContents): ByteSource {
  const shapes = tensors.map(([tensor, { type, dims, byteLength }]) => ({ name: tensor, type, dims, byteLength }));
  const { bytes, alignment, total } = encodeHeader({ entries, tensors: shapes });
  const pieces: Piece[] = [pieceOf(0, bytes)];
  let offset = alignUp(bytes.byteLength, alignment);
  for (const [, { byteLength, read }] of tensors) {
    pieces.push({ offset, byteLength, read });
    offset += alignUp(byteLength, alignment);
  }
  return madeSource({ name, byteLength: total, pieces, made: { ...made, headerBytes: bytes.byteLength }, close });
}
