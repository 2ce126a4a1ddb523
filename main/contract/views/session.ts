/**
 * What a window keeps: session documents, and histories to which lines are only added. A document crosses as text, because it is
 * one value to the engine: its parts belong to the features of the window, which check them when they are restored.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { textFile } from "./text.ts";

/** Letters of a document: what a request over a socket may hold, with room for the frame. */
export const LARGEST_DOCUMENT = 6_000_000;
/** Letters of a graph in text that is kept; a longer one has to be opened again. */
export const LARGEST_KEPT_TEXT = 500_000;
/** Models of which a document keeps something. */
export const MOST_MODELS = 64;
/** The ending of a document that is handed on. */
export const SESSION_ENDING = ".rlxsession";

export const sessionId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{3,63}$/u, "expected the id of a session: lower case letters, digits and hyphens");

/** Plain data whose form is the business of others. */
const json = z.custom<Json>((value) => value !== undefined, "expected a value");

/**
 * What the features keep, by the names of their parts. Paths of this machine stand in a part's field `paths`, and nowhere else: it
 * is left out where the session is handed on.
 */
const parts = z.record(z.string().min(1).max(64), json);

/** How the model of a session is opened again. */
const sessionSource = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("path"), path: z.string().min(1).max(4096) }),
  z.object({ kind: z.literal("offer"), id: z.string().min(1).max(64) }),
  /** A graph that lies in no file, or is not what its file says. */
  z.object({
    kind: z.literal("text"),
    name: z.string().min(1).max(1024),
    text: z.string().max(LARGEST_KEPT_TEXT),
    file: textFile.optional(),
  }),
  /** It was dropped on a browser's window, or its path was left out: only its name is known. */
  z.object({ kind: z.literal("name"), name: z.string().max(4096) }),
]);
export type SessionSource = View<typeof sessionSource>;

/** A model that was open, and what the features keep of it. */
export const sessionModel = z.object({
  /** As `identityOf` makes it. */
  identity: z.string().min(1).max(200),
  title: z.string().max(1000),
  variant: z.string().max(1000),
  source: sessionSource,
  headerHash: z.string().max(128).nullable(),
  bytes: z.number().min(0),
  /** Milliseconds since 1970. */
  usedAt: z.number(),
  parts,
});
export type SessionModel = View<typeof sessionModel>;

/** What a model is known by: its file's header and size, so that a copy elsewhere is the same one; without a file its title. */
export const identityOf = (
  title: string,
  file: { readonly headerHash: string; readonly bytes: number } | null,
): string => (file === null ? `title:${title}`.slice(0, 200) : `${file.headerHash}-${file.bytes}`);

export const sessionDocument = z.object({
  format: z.literal("rlx-session"),
  version: z.literal(1),
  /** Of the workbench that wrote it. */
  writtenBy: z.string().max(100),
  savedAt: z.number(),
  /** Of the window, whatever model is open. */
  parts,
  /** Newest first. */
  models: z.array(sessionModel).max(MOST_MODELS),
  /** The identity of the model that is open; null at the first screen. */
  open: z.string().max(200).nullable(),
});
export type SessionDocument = View<typeof sessionDocument>;

const malformed = (what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[session] ${what}`, { hint });

/** A document from text of any origin. */
export function readDocument(text: string): SessionDocument {
  if (text.length > LARGEST_DOCUMENT)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[session] got ${text.length} letters, expected ${LARGEST_DOCUMENT} at most`,
      { hint: "Close some of its models and save it again." },
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", "[session] got text that is no JSON, expected a session", {
      hint: `Choose a ${SESSION_ENDING} file.`,
      cause,
    });
  }
  const { format, version } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly format?: unknown;
    readonly version?: unknown;
  };
  if (format !== "rlx-session")
    throw malformed("got JSON of another kind, expected a session", `Choose a ${SESSION_ENDING} file.`);
  if (version !== 1)
    throw malformed(
      `got version ${JSON.stringify(version) ?? "none"}, expected 1`,
      "It was written by another version of the workbench. Open it with that one.",
    );
  const read = sessionDocument.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.map(String).join(".") ?? "";
  throw malformed(`${where}: ${issue?.message ?? "not what a session holds"}`, "The file is damaged.");
}

/** The document for others: no path of this machine, names and hashes in their place. */
export const withoutPaths = (document: SessionDocument): SessionDocument => ({
  ...document,
  parts: partsWithoutPaths(document.parts),
  models: document.models.map((model) => ({
    ...model,
    source: sourceWithoutPath(model.source),
    parts: partsWithoutPaths(model.parts),
  })),
});

function sourceWithoutPath(source: SessionSource): SessionSource {
  if (source.kind === "path") return { kind: "name", name: fileName(source.path) };
  return source.kind === "text" ? { kind: "text", name: source.name, text: source.text } : source;
}

const partsWithoutPaths = (all: SessionDocument["parts"]): SessionDocument["parts"] =>
  Object.fromEntries(
    Object.entries(all).map(([name, value]): readonly [string, Json] => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return [name, value];
      return [
        name,
        Object.fromEntries(
          Object.entries(value as Readonly<Record<string, Json>>).filter(([field]) => field !== "paths"),
        ),
      ];
    }),
  );

export const fileName = (path: string): string => path.split(/[\\/]/u).findLast((part) => part !== "") ?? path;

export const sessionRow = z.object({
  session: sessionId,
  savedAt: z.number(),
  bytes: z.number(),
  /** Titles of its models, the open one first. */
  models: z.array(z.string()),
  /** null: it cannot be read, and why. */
  problem: z.string().nullable(),
});
export type SessionRow = View<typeof sessionRow>;

/** A line of a history. */
export const historyKind = z
  .string()
  .regex(/^[a-z][a-z0-9-]{1,31}$/u, "expected the name of a history: lower case letters, digits and hyphens");
/** The history of benchmarks: a `benchRecord` (views/bench.ts) in each line. */
export const BENCH_HISTORY = "bench";
export const historyEntry = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  /** The model that it is about. */
  model: z.object({
    title: z.string().max(1000),
    identity: z.string().min(1).max(200),
    path: z.string().max(4096).nullable(),
  }),
  /** JSON. What it holds is the business of the history's kind. */
  value: json,
});
export type HistoryEntry = View<typeof historyEntry>;
/** Letters of one line. */
export const LONGEST_ENTRY = 1_000_000;

export const historyPage = z.object({
  /** Newest first. */
  entries: z.array(historyEntry),
  /** Lines that are cut off or changed: they are left out. */
  damaged: z.number(),
  /** Older lines were not read: the file is larger than what is read of it. */
  cut: z.boolean(),
});
export type HistoryPage = View<typeof historyPage>;
