/**
 * Opens a GGUF: one file, or all parts of a split one ("name-00001-of-00003.gguf") whichever of
 * them was given. The keys come from the first part; every part must agree on how many there are
 * and which one it is.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource, SiblingOpener } from "../byteSource.ts";
import { GgufFile } from "./file.ts";
import type { OpenPart } from "./file.ts";
import type { HeaderLimits } from "./cursor.ts";
import { quote, readHeader } from "./header.ts";
import { modernSource } from "./otherForms.ts";
import { Metadata } from "./metadata.ts";

export interface OpenOptions {
  /** Needed for split files only. */
  readonly openSibling?: SiblingOpener;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: HeaderLimits;
}

const MAX_PARTS = 1000;

/** On failure everything that was opened, the given source included, is closed. */
export async function openGguf(source: ByteSource, options: OpenOptions = {}): Promise<GgufFile> {
  const opened: ByteSource[] = [source];
  try {
    const given = await openPart(source, options);
    const split = splitOf(given);
    if (split === undefined) return new GgufFile([given], true);
    return new GgufFile(await openParts(source, given, split, options, opened), true);
  } catch (error) {
    await Promise.allSettled(opened.map((item) => item.close()));
    throw error;
  }
}

/** Files of version 1 and big-endian ones are translated while they are read. */
async function openPart(given: ByteSource, options: OpenOptions): Promise<OpenPart> {
  const source = await modernSource(given, options);
  return { header: await readHeader(source, options), source };
}

interface Split {
  readonly count: number;
  /** From 0. */
  readonly index: number;
  /** Total over all parts, when the file says it. */
  readonly tensors: number | undefined;
}

function splitOf(part: OpenPart): Split | undefined {
  const keys = new Metadata(part.source.name, part.header.entries);
  const count = keys.optionalCount("split.count") ?? 0;
  if (count <= 1) return undefined;
  const index = keys.optionalCount("split.no") ?? 0;
  const fail = (message: string): WorkbenchError =>
    splitError(part.source.name, message, "Download all parts again, from one place.");
  if (count > MAX_PARTS) throw fail(`split.count: got ${count}, expected at most ${MAX_PARTS}`);
  if (index >= count) throw fail(`split.no: got ${index}, expected less than ${count}`);
  return { count, index, tensors: keys.optionalCount("split.tensors.count") };
}

async function openParts(
  source: ByteSource,
  given: OpenPart,
  split: Split,
  options: OpenOptions,
  opened: ByteSource[],
): Promise<OpenPart[]> {
  const names = partNames(given.source.name, split);
  const missing: string[] = [];
  const sources: ByteSource[] = [];
  for (const [i, name] of names.entries()) {
    const sibling = i === split.index ? source : await options.openSibling?.(name);
    if (sibling === undefined) missing.push(name);
    else {
      sources.push(sibling);
      if (sibling !== source) opened.push(sibling);
    }
  }
  if (missing.length > 0)
    throw splitError(
      given.source.name,
      `this is part ${split.index + 1} of ${split.count}; missing: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ` and ${missing.length - 5} more` : ""}`,
      "Put all parts into one folder, with the names they were published under.",
      missing,
    );
  const parts: OpenPart[] = [];
  for (const [i, sibling] of sources.entries())
    parts.push(i === split.index ? given : await openPart(sibling, options));
  checkParts(parts, split);
  return parts;
}

/** The names of all parts, made from the name of one. */
function partNames(name: string, split: Split): string[] {
  const match = /^(.*)-(\d{5})-of-(\d{5})(\.[^.]+)?$/u.exec(name);
  const pad = (n: number): string => String(n).padStart(5, "0");
  if (match === null || match[2] !== pad(split.index + 1) || match[3] !== pad(split.count))
    throw splitError(
      name,
      `the file says it is part ${split.index + 1} of ${split.count}, but its name does not end in -${pad(split.index + 1)}-of-${pad(split.count)}.gguf`,
      "Give the parts the names they were published under.",
    );
  return Array.from(
    { length: split.count },
    (_, i) => `${match[1] ?? ""}-${pad(i + 1)}-of-${pad(split.count)}${match[4] ?? ""}`,
  );
}

function checkParts(parts: readonly OpenPart[], split: Split): void {
  const seen = new Map<string, string>();
  let total = 0;
  for (const [i, part] of parts.entries()) {
    const name = part.source.name;
    const own = splitOf(part);
    if (own === undefined || own.index !== i || own.count !== split.count)
      throw splitError(
        name,
        `expected part ${i + 1} of ${split.count}, got ${own === undefined ? "a file that is no part" : `part ${own.index + 1} of ${own.count}`}`,
        "The parts belong to different models; download them again, from one place.",
      );
    for (const tensor of part.header.tensors) {
      const other = seen.get(tensor.name);
      if (other !== undefined)
        throw splitError(
          name,
          `the tensor ${quote(tensor.name)} is also in ${other}`,
          "Download all parts again, from one place.",
        );
      seen.set(tensor.name, name);
    }
    total += part.header.tensors.length;
  }
  if (split.tensors !== undefined && total !== split.tensors)
    throw splitError(
      parts[0]?.source.name ?? "",
      `the parts hold ${total} tensors, expected ${split.tensors}`,
      "Download all parts again, from one place.",
    );
}

function splitError(name: string, message: string, hint: string, missing: readonly string[] = []): WorkbenchError {
  return new WorkbenchError("INPUT_SPLIT", `[${name}] ${message}`, {
    hint,
    ...(missing.length > 0 ? { details: { missing } } : {}),
  });
}
