/** A safetensors file in pieces: the header, padded to whole words so that the data is aligned, then each tensor's bytes. */

export interface TensorToWrite {
  readonly name: string;
  /** As the format says it: "F64". */
  readonly type: string;
  readonly shape: readonly number[];
  /** Little-endian. */
  readonly bytes: Uint8Array;
}

export function safetensorsPieces(
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>>,
): readonly Uint8Array[] {
  let end = 0;
  const entries = tensors.map(({ name, type, shape, bytes }): [string, object] => {
    const begin = end;
    end += bytes.byteLength;
    return [name, { dtype: type, shape, data_offsets: [begin, end] }];
  });
  const text = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) });
  const header = new TextEncoder().encode(text.padEnd(text.length + 8));
  const length = header.byteLength - (header.byteLength % 8);
  const first = new Uint8Array(8 + length);
  new DataView(first.buffer).setBigUint64(0, BigInt(length), true);
  first.set(header.subarray(0, length), 8);
  return [first, ...tensors.map(({ bytes }) => bytes)];
}
