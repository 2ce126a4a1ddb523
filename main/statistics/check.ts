/** Is this file broken? Every tensor is read once; the verdict names tensor, row and expert, and says what to do. */
import { throwIfCancelled, toWireError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import type { Measure } from "../ir/measure.ts";
import type { ComparedTensor } from "./compare.ts";
import { whyNot } from "./compare.ts";
import type { Finding } from "./findings.ts";
import { counted, findingsOf } from "./findings.ts";
import type { ScanOptions, TensorScan } from "./scan.ts";
import { scanTensor } from "./scan.ts";

export interface CheckProgress {
  readonly tensor: string;
  readonly done: number;
  readonly of: number;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface CheckOptions {
  readonly measure: Measure;
  /** Another file of the same model. */
  readonly against?: GgufFile | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
}

export interface CheckReport {
  readonly verdict: "sound" | "odd" | "broken";
  readonly sentence: string;
  /** What to do about it; null for a sound file. */
  readonly advice: string | null;
  /** In the order of the file, at most MOST_FINDINGS. */
  readonly findings: readonly Finding[];
  readonly moreFindings: number;
  readonly tensors: number;
  readonly bytes: number;
  /** Tensors that cannot be unpacked: of types that are not known, or in big-endian order. */
  readonly unread: number;
  /** The largest differences first; empty without another file. */
  readonly compared: readonly ComparedTensor[];
}

/** A file from anywhere may have a finding for each of a million tensors. */
const MOST_FINDINGS = 1000;
const MOST_COMPARED = 1000;

export async function checkFile(file: GgufFile, options: CheckOptions): Promise<CheckReport> {
  const { against, signal } = options;
  const kept = new Findings(options.onFinding);
  const totalBytes = file.tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  let [doneBytes, unread] = [0, 0];
  let compared: ComparedTensor[] = [];
  for (const [done, tensor] of file.tensors.entries()) {
    throwIfCancelled(signal);
    const report = (): void =>
      options.onProgress?.({ tensor: tensor.name, done, of: file.tensors.length, doneBytes, totalBytes });
    report();
    const end = doneBytes + tensor.byteLength;
    const other = against === undefined ? undefined : comparable(tensor, against, kept);
    const { scan, findings } = await checkTensor(file, tensor, {
      ...{ measure: options.measure, signal, against: other },
      onBytes: (bytes) => {
        doneBytes += bytes;
        report();
      },
    });
    doneBytes = end;
    if (scan === null && findings.length === 0) unread++;
    for (const finding of findings) kept.add(finding);
    if (scan !== null && scan.difference !== null && other !== undefined)
      compared.push({ tensor: tensor.name, type: tensor.type.name, theirs: typeIn(other, tensor), ...scan.difference });
    if (compared.length > 2 * MOST_COMPARED) compared = largest(compared);
  }
  if (against !== undefined)
    for (const { name } of against.tensors)
      if (file.tensor(name) === undefined)
        kept.add({ tensor: name, kind: "odd", place: null, sentence: `only in ${against.name}` });
  return {
    ...verdictOf(file, kept, { totalBytes, unread }),
    ...{ findings: kept.list, moreFindings: kept.count - kept.list.length },
    ...{ tensors: file.tensors.length, bytes: totalBytes, unread, compared: largest(compared) },
  };
}

class Findings {
  count = 0;
  firstBroken: Finding | undefined;
  readonly list: Finding[] = [];
  readonly #tell: ((finding: Finding) => void) | undefined;
  constructor(tell: ((finding: Finding) => void) | undefined) {
    this.#tell = tell;
  }
  add(finding: Finding): void {
    this.count++;
    if (finding.kind === "broken") this.firstBroken ??= finding;
    if (this.list.length >= MOST_FINDINGS) return;
    this.list.push(finding);
    this.#tell?.(finding);
  }
}

const largest = (all: readonly ComparedTensor[]): ComparedTensor[] =>
  all.toSorted((a, b) => b.relative - a.relative).slice(0, MOST_COMPARED);

const typeIn = (file: GgufFile, { name }: GgufTensor): string => file.tensor(name)?.type.name ?? "none";

/** The other file, where it has this tensor in this shape; else that is a finding, but for types that cannot be unpacked. */
function comparable(tensor: GgufTensor, against: GgufFile, kept: Findings): GgufFile | undefined {
  const why = whyNot(tensor, against);
  if (why === undefined) return against;
  const isUnread = against.tensor(tensor.name)?.dims.join() === tensor.dims.join();
  if (!isUnread) kept.add({ tensor: tensor.name, kind: "odd", place: null, sentence: why });
  return undefined;
}

/** Scans one tensor and never throws for what is in the file: that is a finding, too. Neither scan nor finding: it cannot be unpacked. */
export async function checkTensor(
  file: GgufFile,
  tensor: GgufTensor,
  options: ScanOptions,
): Promise<{ readonly scan: TensorScan | null; readonly findings: readonly Finding[] }> {
  if (tensor.type.element === undefined) return { scan: null, findings: [] };
  try {
    const scan = await scanTensor(file, tensor, options);
    return { scan, findings: findingsOf(scan) };
  } catch (error) {
    const { code, message } = toWireError(error);
    if (code === "UNSUPPORTED_TENSOR_TYPE") return { scan: null, findings: [] };
    if (!code.startsWith("INPUT_") || code === "INPUT_ARGUMENT") throw error;
    return { scan: null, findings: [{ tensor: tensor.name, kind: "broken", place: null, sentence: message }] };
  }
}

function verdictOf(
  file: GgufFile,
  { count, firstBroken, list }: Findings,
  { totalBytes, unread }: { readonly totalBytes: number; readonly unread: number },
): Pick<CheckReport, "verdict" | "sentence" | "advice"> {
  const size = `${counted(file.tensors.length, "tensor")}, ${(totalBytes / 1e6).toFixed(totalBytes < 1e7 ? 1 : 0)} MB`;
  const left =
    unread === 0
      ? ""
      : ` ${counted(unread, "tensor")} of a type that cannot be unpacked ${unread === 1 ? "was" : "were"} left out.`;
  if (firstBroken !== undefined) {
    const others = count === 1 ? "" : ` And ${counted(count - 1, "other finding")}.`;
    return {
      verdict: "broken",
      sentence: `Broken: ${firstBroken.tensor}: ${firstBroken.sentence}.${others}${left}`,
      advice: adviceOf(file, firstBroken),
    };
  }
  if (file.tensors.length === 0 && count === 0)
    return { verdict: "odd", sentence: "There are no tensors to check.", advice: "Choose a file with weights." };
  if (unread === file.tensors.length && count === 0)
    return {
      verdict: "odd",
      sentence: `Nothing was checked.${left}`,
      advice: "Use a file of the model in types that are known here.",
    };
  const first = list[0];
  if (first !== undefined)
    return {
      verdict: "odd",
      sentence: `Usable, with ${count === 1 ? "1 oddity" : `${count} oddities`} in ${size}; the first is ${first.tensor}: ${first.sentence}.${left}`,
      advice: "A model may be meant so. Compare with the file that it was made from to be sure (--against).",
    };
  return {
    verdict: "sound",
    sentence: `Sound: ${size}, and every value ${left === "" ? "" : "that was read "}is a number.${left}`,
    advice: null,
  };
}

function adviceOf(file: GgufFile, { tensor }: Finding): string {
  const part = file.parts[file.tensor(tensor)?.part ?? 0];
  const which = file.parts.length > 1 && part !== undefined ? part.name : "the file";
  return `Download ${which} again, or convert it again from the original. If the fresh copy has the same values, the fault was made when it was converted.`;
}
