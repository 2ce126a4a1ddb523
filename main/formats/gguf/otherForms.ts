/**
 * GGUF files of version 1 or in big-endian order. The header is translated into that of version 3
 * in little-endian order, which the reader knows; tensors are swapped when they are read. So such a
 * file is a made source, as a Hugging Face folder is.
 */
import { WorkbenchError, throwIfCancelled } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../byteSource.ts";
import { memorySource } from "../byteSource.ts";
import { madeSource, pieceOf } from "../madeSource.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { HEADER_LIMITS, NeedMore } from "./cursor.ts";
import type { HeaderOptions, TensorInfo } from "./header.ts";
import { alignUp, quote, readHeader } from "./header.ts";
import { madeGguf } from "./madeGguf.ts";
import { HeaderTranslator } from "./translate.ts";
import type { OldForm } from "./translate.ts";

/** A translated header is up to three times as long. Real ones of these kinds take a few MB. */
const MOST_BYTES = 16 << 20;
/** Models of that time have 32 000 tokens, and headers of less than 1 MB. */
const MOST_FIRST_BYTES = 4 << 20;
const FIRST_WINDOW = 256 << 10;

/** The source itself, unless its form is another. Other files than GGUFs are the reader's to refuse. */
export async function modernSource(source: ByteSource, options: HeaderOptions = {}): Promise<ByteSource> {
  if (source.byteLength < 24) return source;
  const form = formOf(await source.read(0, 8, options.signal));
  if (form === undefined) return source;
  const { bytes, end } = await translated(source, form, options.signal);
  const made = { from: `GGUF ${form.version}${form.bigEndian ? ", big-endian" : ""}` };
  // Without data first: where the data begins follows from the alignment.
  const loose = await readHeader(memorySource(source.name, bytes), { ...options, withoutData: true });
  const dataStart = alignUp(end, loose.alignment);
  const size = alignUp(bytes.byteLength, loose.alignment) + Math.max(0, source.byteLength - dataStart);
  const header = await readHeader(
    madeSource({
      ...{ name: source.name, byteLength: size, pieces: [pieceOf(0, bytes)] },
      ...{ made: { ...made, headerBytes: bytes.byteLength }, close: source.close },
    }),
    options,
  );
  return madeGguf({
    name: source.name,
    entries: header.entries,
    tensors: header.tensors.map((info) => [info.name, tensorOf(source, info, dataStart, form)] as const),
    made,
    close: source.close,
  });
}

/** Undefined for a file that the reader takes, or refuses, as it is. */
function formOf(start: Uint8Array): OldForm | undefined {
  const magic = String.fromCharCode(...start.subarray(0, 4));
  const view = new DataView(start.buffer, start.byteOffset);
  const [little, big] = [view.getUint32(4, true), view.getUint32(4, false)];
  const known = (version: number): version is 1 | 2 | 3 => version >= 1 && version <= 3;
  // Writers leave the magic as it is in both orders; a machine that writes it as a number does not.
  if (magic !== "GGUF" && magic !== "FUGG") return undefined;
  if (known(big)) return { version: big, bigEndian: true };
  return magic === "GGUF" && little === 1 ? { version: 1, bigEndian: false } : undefined;
}

async function translated(
  source: ByteSource,
  form: OldForm,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: Uint8Array; readonly end: number }> {
  const most = Math.min(source.byteLength, form.version === 1 ? MOST_FIRST_BYTES : MOST_BYTES);
  for (let window = Math.min(FIRST_WINDOW, most); ;) {
    throwIfCancelled(signal);
    const translator = new HeaderTranslator(source.name, await source.read(0, window, signal), form);
    try {
      return translator.run();
    } catch (error) {
      if (!(error instanceof NeedMore)) throw error;
      if (error.end > most) throw cutOff(source, error.end);
      window = Math.min(most, Math.max(error.end, window * 4));
    }
  }
}

const cutOff = ({ name, byteLength }: ByteSource, end: number): WorkbenchError =>
  end > byteLength
    ? new WorkbenchError(
        "INPUT_TRUNCATED",
        `[${name}] header: got a file of ${byteLength} bytes, expected at least ${end}`,
        {
          hint: "The file ends inside its header; download or copy it again.",
        },
      )
    : new WorkbenchError("INPUT_LIMIT", `[${name}] header: got at least ${end} bytes, expected fewer`, {
        hint: `No known model of this kind has a header this long (${HEADER_LIMITS.headerBytes} in others); the file is probably damaged.`,
      });

/** Where a block of a packed type has numbers of two bytes. */
const HALVES: Readonly<Record<string, readonly number[]>> = {
  q4_0: [0],
  q4_1: [0, 2],
  q8_0: [0],
  q2_k: [80, 82],
  q3_k: [108],
  q4_k: [0, 2],
  q5_k: [0, 2],
  q6_k: [208],
  iq4_nl: [0],
  mxfp4: [],
  nvfp4: [],
};

function tensorOf(source: ByteSource, info: TensorInfo, dataStart: number, { bigEndian }: OldForm): TensorBytes {
  const { type, dims, byteLength } = info;
  const start = dataStart + info.dataOffset;
  const plain: TensorBytes = {
    type,
    dims,
    byteLength,
    read: (offset, length, signal) => source.read(start + offset, length, signal),
  };
  if (!bigEndian || type.blockBytes === 1) return plain;
  const unit = type.blockBytes;
  const halves = HALVES[type.name];
  const isKnown = halves !== undefined || (type.blockSize === 1 && unit > 0);
  return {
    ...plain,
    async read(offset, length, signal) {
      if (!isKnown)
        throw new WorkbenchError(
          "UNSUPPORTED_TENSOR_TYPE",
          `[${source.name}] big-endian tensor ${quote(info.name)}: got ${type.name}, expected one of ${["f32", "f16", "bf16", ...Object.keys(HALVES)].join(", ")}`,
          { hint: "Where the numbers of its blocks lie in that order is not known: convert the original model again." },
        );
      const first = Math.floor(offset / unit) * unit;
      const end = Math.ceil((offset + length) / unit) * unit;
      const bytes = await plain.read(first, end - first, signal);
      if (halves === undefined) reverseEach(bytes, unit);
      else
        for (let at = 0; at < bytes.length; at += unit)
          for (const half of halves) reverseEach(bytes.subarray(at + half, at + half + 2), 2);
      return bytes.subarray(offset - first, offset - first + length);
    },
  };
}

function reverseEach(bytes: Uint8Array, size: number): void {
  for (let at = 0; at + size <= bytes.length; at += size) bytes.subarray(at, at + size).reverse();
}
