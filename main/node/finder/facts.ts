/** What the header of a found model tells: quantisation and architecture, or that it is no model, or why it cannot be read. */
import { readFile } from "node:fs/promises";
import { toWireError } from "../../diagnostics/errors.ts";
import { describeFile } from "../../formats/gguf/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openModelFile } from "../../formats/openModel.ts";
import { openFileSource, siblingOpener } from "../files/fileByteSource.ts";
import type { Candidate } from "./group.ts";
import { configFacts } from "./group.ts";

export interface ModelFacts {
  /** An adapter, a projector or an importance matrix is none. */
  readonly isModel: boolean;
  readonly variant: string | null;
  readonly architecture: string | null;
  readonly problem: string | null;
}

const UNKNOWN: ModelFacts = { isModel: true, variant: null, architecture: null, problem: null };
const MOST_CONFIG_BYTES = 4 << 20;
/** Facts that are kept, by file. */
const MOST_KEPT = 2000;
const NO_MODELS = ["mmproj", "projector", "adapter", "imatrix"];

function textOf(file: GgufFile, key: string): string | null {
  const value = file.metadata.get(key);
  return value?.kind === "string" ? new TextDecoder().decode(value.bytes.subarray(0, 80)) : null;
}

export interface FactReader {
  read(candidate: Candidate, signal: AbortSignal): Promise<ModelFacts>;
}

export function factReader(): FactReader {
  const kept = new Map<string, ModelFacts>();
  const look = async (candidate: Candidate, signal: AbortSignal): Promise<ModelFacts> => {
    if (candidate.kind === "hugging-face") {
      const [config] = candidate.files;
      if (config === undefined || config.bytes > MOST_CONFIG_BYTES) return UNKNOWN;
      return { ...UNKNOWN, ...configFacts(await readFile(config.path, "utf8")) };
    }
    const there = candidate.files.length;
    if (there < candidate.parts)
      return {
        ...UNKNOWN,
        problem: `Only ${there} of its ${candidate.parts} parts ${there === 1 ? "is" : "are"} here.`,
      };
    const source = await openFileSource(candidate.path);
    const file = await openModelFile(source, { openSibling: siblingOpener(candidate.path), signal });
    try {
      const architecture = textOf(file, "general.architecture");
      const type = textOf(file, "general.type");
      return {
        isModel: architecture !== "clip" && (type === null || !NO_MODELS.includes(type)),
        variant: describeFile(file).variant.slice(0, 80),
        ...{ architecture, problem: null },
      };
    } finally {
      await file.close();
    }
  };
  return {
    async read(candidate, signal) {
      const key = [
        candidate.path,
        ...candidate.files.map(({ identity, bytes, changedAt }) => [identity, bytes, changedAt]),
      ].join();
      const known = kept.get(key);
      if (known !== undefined) return known;
      let facts: ModelFacts;
      try {
        facts = await look(candidate, signal);
      } catch (error) {
        const { code, message } = toWireError(error);
        if (code === "CANCELLED") throw error;
        facts = { ...UNKNOWN, problem: message.replace(/^\[[^\]]*\] /u, "") };
      }
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(key, facts);
      return facts;
    },
  };
}
