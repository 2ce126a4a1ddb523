/**
 * The long-lived Python process that answers the tests' questions with other people's implementations
 * (python/oracle.py), one per test worker. This file knows the frames; what can be asked is in oracle.ts and llama.ts.
 */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { reasonToSkip } from "./skipping.ts";

export const repositoryRoot = resolve(import.meta.dirname, "../..");

type Stored = Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array;
type StoredUnsigned = Uint8Array | Uint16Array | Uint32Array | BigUint64Array;
export type OracleData = Stored | StoredUnsigned;

/** An array to or from Python, in any numeric storage. f16 and bf16 are f32, c64 is pairs. */
export interface OracleTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: OracleData;
}

export type OracleValue =
  | null
  | boolean
  | number
  | string
  | undefined
  | Uint8Array
  | OracleTensor
  | readonly OracleValue[]
  | { readonly [key: string]: OracleValue };

export interface OracleProcess {
  ask(question: string, values?: { readonly [name: string]: OracleValue }): Promise<OracleValue>;
  stop(): void;
}

/** What Python said no to: `kind` is its exception. */
export class OracleError extends Error {
  override readonly name = "OracleError";
  readonly kind: string;
  constructor(question: string, kind: string, message: string) {
    super(`[${question}] ${message}`);
    this.kind = kind;
  }
}

const STORED = [
  ["f32", Float32Array],
  ["f64", Float64Array],
  ["i8", Int8Array],
  ["i16", Int16Array],
  ["i32", Int32Array],
  ["i64", BigInt64Array],
  ["u8", Uint8Array],
  ["u16", Uint16Array],
  ["u32", Uint32Array],
  ["u64", BigUint64Array],
] as const;

export const pythonPath = join(
  repositoryRoot,
  ".venv",
  process.platform === "win32" ? "Scripts/python.exe" : "bin/python",
);

function isTensor(value: object): value is OracleTensor {
  return "dtype" in value && "shape" in value && "data" in value && ArrayBuffer.isView(value.data);
}

interface Outgoing {
  readonly parts: Uint8Array[];
  size: number;
}

function append(out: Outgoing, data: OracleData, dtype: string, shape: readonly number[]): unknown {
  const stored = STORED.find(([, type]) => data instanceof type)?.[0];
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const offset = out.size;
  const padding = (8 - (bytes.length % 8)) % 8;
  out.parts.push(bytes, new Uint8Array(padding));
  out.size += bytes.length + padding;
  return { $tensor: [offset, bytes.length, stored, dtype, shape] };
}

function encode(value: OracleValue, out: Outgoing): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return append(out, value, "bytes", [value.length]);
  if (Array.isArray(value)) return value.map((item: OracleValue) => encode(item, out));
  if (isTensor(value)) return append(out, value.data, value.dtype, value.shape);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item, out)]));
}

function decodeTensor(reference: unknown, data: Uint8Array): OracleValue {
  const [offset, size, stored, dtype, shape] = reference as [number, number, string, string, readonly number[]];
  // A copy with an aligned buffer of its own. A Buffer's slice would not copy.
  const bytes = new Uint8Array(data.subarray(offset, offset + size));
  if (dtype === "bytes") return bytes;
  const type = STORED.find(([name]) => name === stored)?.[1] ?? Uint8Array;
  return { dtype, shape, data: new type(bytes.buffer) };
}

function decode(value: unknown, data: Uint8Array): OracleValue {
  if (typeof value !== "object" || value === null) return value as OracleValue;
  if (Array.isArray(value)) return value.map((item: unknown) => decode(item, data));
  if ("$tensor" in value) return decodeTensor(value.$tensor, data);
  if ("$number" in value) return Number(String(value.$number).replace("inf", "Infinity"));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item, data)]));
}

interface Waiting {
  readonly question: string;
  readonly resolve: (value: OracleValue) => void;
  readonly reject: (error: Error) => void;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly kind: string; readonly message: string };
}

export function startOracleProcess(environment: NodeJS.ProcessEnv = {}): OracleProcess {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    pythonPath,
    [join(repositoryRoot, "python/oracle.py")],
    {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment, OMP_NUM_THREADS: "2", PYTHONDONTWRITEBYTECODE: "1" },
    },
  );
  const waiting = new Map<number, Waiting>();
  let next = 1;
  let complaint = "";
  let ended: Error | undefined;
  child.stderr.on("data", (part: Buffer) => (complaint = (complaint + part.toString()).slice(-4000)));

  const fail = (error: Error): void => {
    ended ??= error;
    for (const entry of waiting.values()) entry.reject(error);
    waiting.clear();
  };
  child.on("error", fail);
  child.stdin.on("error", fail);
  child.on("close", (code, signal) => {
    const questions = [...waiting.values()].map(({ question }) => question).join(", ");
    fail(
      new Error(
        `the oracle process ended (${signal ?? String(code)}) while asked ${questions || "nothing"}\n${complaint}`,
      ),
    );
  });

  const settle = (text: string, data: Uint8Array): void => {
    const answer = JSON.parse(text) as Answer;
    const entry = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.error) entry?.reject(new OracleError(entry.question, answer.error.kind, answer.error.message));
    else entry?.resolve(decode(answer.value, data));
    holdOpen();
  };
  readFrames(child.stdout, settle);

  // The process must not keep a finished test worker alive, but must while an answer is awaited.
  const handles = [child, child.stdout, child.stderr, child.stdin] as unknown as { ref?(): void; unref?(): void }[];
  const holdOpen = (): void => {
    for (const handle of handles) {
      if (waiting.size > 0) handle.ref?.();
      else handle.unref?.();
    }
  };
  process.once("exit", () => child.kill());
  holdOpen();

  return {
    ask: (question, values = {}) =>
      new Promise((resolve, reject) => {
        if (ended) {
          reject(ended);
          return;
        }
        const id = next++;
        const out: Outgoing = { parts: [], size: 0 };
        const body = encode(values, out) as Record<string, unknown>;
        const text = Buffer.from(JSON.stringify({ ...body, id, ask: question }));
        const head = Buffer.alloc(8);
        head.writeUInt32LE(text.length, 0);
        head.writeUInt32LE(out.size, 4);
        waiting.set(id, { question, resolve, reject });
        holdOpen();
        child.stdin.write(Buffer.concat([head, text, ...out.parts]));
      }),
    stop: () => child.kill(),
  };
}

/** Cuts the byte stream into frames. Copies a large frame once, not for every part. */
function readFrames(stream: Readable, onFrame: (text: string, data: Uint8Array) => void): void {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 8;
  stream.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    while (size >= wanted) {
      const buffer = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      const textLength = buffer.readUInt32LE(0);
      const total = 8 + textLength + buffer.readUInt32LE(4);
      if (size < total) {
        parts = [buffer];
        wanted = total;
        return;
      }
      onFrame(buffer.toString("utf8", 8, 8 + textLength), buffer.subarray(8 + textLength, total));
      parts = [buffer.subarray(total)];
      size -= total;
      wanted = 8;
    }
  });
}

/**
 * Why the outside answers cannot be had here, or undefined when they can. With CI=true a missing one is an error,
 * never a skip.
 */
export function whyMissing(what: "python" | "llama"): string | undefined {
  return reasonToSkip(findReason(what));
}

function findReason(what: "python" | "llama"): string | undefined {
  if (!existsSync(pythonPath)) return "no .venv: run `npm run setup -- --all`";
  const peers = join(repositoryRoot, "bench/peers/node_modules/@node-llama-cpp");
  if (what === "llama" && !existsSync(peers)) return "no llama.cpp in bench/peers: run `npm run setup -- --all`";
  return undefined;
}

/** One process per name and test worker, started at the first question. */
export function sharedOracleProcess(name: string): OracleProcess {
  const key = Symbol.for(`rlx oracle ${name}`);
  const holder = globalThis as { [key: symbol]: OracleProcess | undefined };
  return (holder[key] ??= startOracleProcess({ RLX_LLAMA_CPU: undefined }));
}
