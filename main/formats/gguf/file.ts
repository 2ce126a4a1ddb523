/**
 * An open GGUF: its keys and its tensor table, over one file, over the parts of a split one, or
 * over a header that has no data at all. Tensor bytes are read on request, and only the requested
 * range.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { hashBytes } from "../../ir/hash.ts";
import type { ByteSource, Made } from "../byteSource.ts";
import type { GgufHeader } from "./header.ts";
import { quote } from "./header.ts";
import { Metadata } from "./metadata.ts";
import type { GgmlType } from "./types.ts";

export interface GgufTensor {
  readonly name: string;
  readonly type: GgmlType;
  /** As the file has them, the fastest dimension first. */
  readonly dims: readonly number[];
  /** Row-major, as the graph sees it: `dims` reversed. */
  readonly shape: readonly number[];
  readonly elements: number;
  readonly byteLength: number;
  /** Which part of a split file holds it, from 0. */
  readonly part: number;
  /** From the beginning of that part's file. */
  readonly offset: number;
}

export interface GgufPart {
  readonly name: string;
  readonly byteLength: number;
  readonly dataStart: number;
  /** Identity of the file on disk when its header was read. */
  readonly identity: string | undefined;
  /** It is no part of the model, but an adapter that the model is read with. */
  readonly isAdapter: boolean;
}

export interface TensorRange {
  /** From the beginning of the tensor. */
  readonly offset?: number;
  readonly length?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A header and where its bytes come from; undefined when there are none. */
export interface OpenPart {
  readonly header: GgufHeader;
  readonly source: ByteSource;
  /** In front of the names of its tensors: those of an adapter have one. */
  readonly prefix?: string;
}

/** A LoRA adapter that a model is read with: its tensors stand among the model's, behind a prefix. */
export interface GgufAdapter {
  readonly name: string;
  readonly prefix: string;
  /** As its file has it; 0 for none. */
  readonly alpha: number;
  /** How much of it is applied. */
  readonly scale: number;
}

export class GgufFile {
  readonly name: string;
  readonly version: 2 | 3;
  readonly alignment: number;
  readonly metadata: Metadata;
  readonly tensors: readonly GgufTensor[];
  readonly parts: readonly GgufPart[];
  /** All parts together; for a header-only model what the file would have. */
  readonly byteLength: number;
  /** False for a model that is only a header: everything but running works. */
  readonly hasData: boolean;
  /** Set where no file has these bytes: the form that they are worked out from. */
  readonly made: Made | undefined;
  readonly adapters: readonly GgufAdapter[];
  readonly #open: readonly OpenPart[];
  readonly #byName: ReadonlyMap<string, GgufTensor>;
  #headerHash: string | undefined;

  constructor(open: readonly OpenPart[], hasData: boolean, adapters: readonly GgufAdapter[] = []) {
    const first = open[0];
    invariant(first !== undefined, "a GGUF has at least one part");
    this.#open = open;
    this.name = first.source.name;
    this.version = first.header.version;
    this.alignment = first.header.alignment;
    this.metadata = new Metadata(this.name, first.header.entries);
    this.adapters = adapters;
    this.tensors = open.flatMap((item, part) => tensorsOf(item, part));
    this.parts = open.map(({ header, source, prefix }) => ({
      name: source.name,
      byteLength: hasData ? source.byteLength : virtualBytes(header),
      dataStart: header.dataStart,
      identity: source.identity,
      isAdapter: prefix !== undefined,
    }));
    this.byteLength = this.parts.reduce((sum, part) => sum + part.byteLength, 0);
    this.hasData = hasData;
    this.made = open.find(({ source }) => source.made !== undefined)?.source.made;
    this.#byName = new Map(this.tensors.map((tensor) => [tensor.name, tensor]));
  }

  tensor(name: string): GgufTensor | undefined {
    return this.#byName.get(name);
  }

  requireTensor(name: string): GgufTensor {
    const tensor = this.tensor(name);
    if (tensor !== undefined) return tensor;
    throw new WorkbenchError("INPUT_MISSING_TENSOR", `[${this.name}] the tensor ${quote(name)} is missing`, {
      hint: "The file is incomplete, or its architecture is not the one it names.",
      details: { tensor: name },
    });
  }

  async readTensor(tensor: GgufTensor, range: TensorRange = {}): Promise<Uint8Array> {
    const offset = range.offset ?? 0;
    const length = range.length ?? tensor.byteLength - offset;
    if (!this.hasData)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[${this.name}] this model is a header without data: ${quote(tensor.name)} cannot be read`,
        {
          hint: "Open a file with weights to run the model or to look at its values.",
        },
      );
    invariant(
      offset >= 0 && length >= 0 && offset + length <= tensor.byteLength,
      `range ${offset}+${length} of tensor ${tensor.name}`,
    );
    const source = this.#open[tensor.part]?.source;
    invariant(source !== undefined, `part ${tensor.part} of ${this.name}`);
    return source.read(tensor.offset + offset, length, range.signal);
  }

  /** The same model with the tensors of adapters behind its own; closing it closes them. */
  withAdapters(adapters: readonly { readonly file: GgufFile; readonly use: GgufAdapter }[]): GgufFile {
    const more = adapters.flatMap(({ file, use: { prefix } }) => file.#open.map((part) => ({ ...part, prefix })));
    return new GgufFile(
      [...this.#open, ...more],
      this.hasData,
      adapters.map(({ use }) => use),
    );
  }

  /** The model alone. */
  withoutAdapters(): GgufFile {
    return new GgufFile(
      this.#open.filter(({ prefix }) => prefix === undefined),
      this.hasData,
    );
  }

  /** The header of one part as it lies in its file. */
  headerBytes(part = 0): Uint8Array {
    const open = this.#open[part];
    invariant(open !== undefined, `part ${part} of ${this.name}`);
    return open.header.bytes;
  }

  /** MurmurHash3 (128 bits) over header and size of every part and the scales of adapters: it never touches tensor data. */
  get headerHash(): string {
    this.#headerHash ??=
      this.parts.length === 1
        ? hashBytes(this.headerBytes())
        : hashBytes(
            new TextEncoder().encode(
              [
                ...this.#open.map((p, i) => `${hashBytes(p.header.bytes)}:${this.parts[i]?.byteLength ?? 0}`),
                ...this.adapters.map(({ prefix, scale }) => `${prefix}${scale}`),
              ].join(),
            ),
          );
    return this.#headerHash;
  }

  /** Identity of the weights in graphs and caches: size and header, not contents. */
  get identity(): string {
    return `${this.byteLength.toString(16)}-${this.headerHash}${this.hasData ? "" : "-header"}`;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((part) => part.source.close()));
  }
}

/** For what writes another file of a model: a folder that no family reads has no form as a GGUF. */
export function requireRead({ name, made }: GgufFile, who: string): void {
  if (made?.unread === undefined) return;
  throw new WorkbenchError("UNSUPPORTED_ARCHITECTURE", `[${who}] ${name}: ${made.unread}`, {
    hint: "Its tensors can be looked at (rlx tensors, rlx check); to write it, use a model of a family that is read.",
  });
}

function tensorsOf({ header, prefix = "" }: OpenPart, part: number): GgufTensor[] {
  return header.tensors.map((info) => ({
    name: prefix + info.name,
    type: info.type,
    dims: info.dims,
    shape: info.dims.toReversed(),
    elements: info.elements,
    byteLength: info.byteLength,
    part,
    offset: header.dataStart + info.dataOffset,
  }));
}

const virtualBytes = (header: GgufHeader): number =>
  header.tensors.reduce(
    (end, info) => Math.max(end, header.dataStart + info.dataOffset + info.byteLength),
    header.dataStart,
  );
