/**
 * A compiled graph as bytes and back: the length of a JSON text, the text (steps, inputs, sizes), the plan. What is read may be
 * anything: a text that is not exactly what is written here gives undefined, and the plan itself is checked by the engine.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Ring } from "../ir/rewind.ts";
import { isRewind } from "../ir/rewind.ts";
import { formatType, parseType } from "../ir/type.ts";
import type { CpuArtifact } from "./devices/cpu.ts";
import { holdsMemory, NO_MEMORY } from "./memoryLeaves.ts";
import type { GraphInput, PlanStep } from "./device.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const HEAD = 4;
/** More instructions than any plan has. */
const MOST = 1 << 22;

/** Decoders only: what a graph holds in memory is not written. */
export function encodeArtifact(artifact: CpuArtifact): Uint8Array {
  invariant(!holdsMemory(artifact.memory), "a kept plan has no parameters in memory and no variables");
  const { steps, weightBytes, arenaBytes, rewind, ring, plan } = artifact;
  const inputs = artifact.inputs.map(({ name, type }) => ({ name, type: formatType(type) }));
  const text = encoder.encode(JSON.stringify({ steps, inputs, weightBytes, arenaBytes, rewind, ring }));
  const bytes = new Uint8Array(HEAD + text.length + plan.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, HEAD);
  bytes.set(plan, HEAD + text.length);
  return bytes;
}

export function decodeArtifact(bytes: Uint8Array): CpuArtifact | undefined {
  if (bytes.length < HEAD) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (length > bytes.length - HEAD) return undefined;
  const parsed = parse(bytes.subarray(HEAD, HEAD + length));
  if (!isRecord(parsed)) return undefined;
  const steps = listOf(parsed["steps"], asStep);
  const inputs = listOf(parsed["inputs"], asInput);
  const { weightBytes, arenaBytes, rewind } = parsed;
  const ring = asRing(parsed["ring"]);
  if (!steps || !inputs || !isCount(weightBytes) || !isCount(arenaBytes) || !isRewind(rewind)) return undefined;
  if (ring === undefined && parsed["ring"] !== undefined) return undefined;
  const facts = { steps, inputs, weightBytes, arenaBytes, rewind, ring };
  return { ...facts, memory: NO_MEMORY, plan: bytes.subarray(HEAD + length) };
}

function asRing(value: unknown): Ring | undefined {
  if (!isRecord(value)) return undefined;
  const { rows, spare } = value;
  return isCount(rows) && isCount(spare) ? { rows, spare } : undefined;
}

function parse(text: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(text));
  } catch {
    // Not UTF-8 or not JSON: not ours.
    return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const asCount = (value: unknown): number | undefined => (isCount(value) ? value : undefined);

/** All items, or undefined when one is not what it should be. */
function listOf<T>(value: unknown, item: (value: unknown) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(value) || value.length > MOST) return undefined;
  const items: T[] = [];
  for (const each of value as readonly unknown[]) {
    const read = item(each);
    if (read === undefined) return undefined;
    items.push(read);
  }
  return items;
}

function asStep(value: unknown): PlanStep | undefined {
  if (!isRecord(value)) return undefined;
  const { kernel, op, label } = value;
  const nodes = listOf(value["nodes"], asCount);
  const sources = listOf(value["sources"], asCount);
  if (typeof kernel !== "string" || typeof op !== "string" || typeof label !== "string") return undefined;
  return nodes && sources ? { kernel, op, label, nodes, sources } : undefined;
}

function asInput(value: unknown): GraphInput | undefined {
  if (!isRecord(value)) return undefined;
  const { name, type } = value;
  if (typeof name !== "string" || typeof type !== "string") return undefined;
  try {
    return { name, type: parseType(type) };
  } catch {
    return undefined;
  }
}
