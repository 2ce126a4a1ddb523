/** Models that lie on this machine: where other programs keep theirs, and in folders that the user names. */
import { z } from "zod";
import type { View } from "../define.ts";

const path = z.string().min(1).max(4096);

/** Whose folder it is. */
export const placeKind = z.enum(["folder", "lm-studio", "ollama", "hugging-face", "llama-cpp"]);
export type PlaceKind = View<typeof placeKind>;

export const PLACE_TITLES: Readonly<Record<PlaceKind, string>> = {
  folder: "Your folders",
  "lm-studio": "LM Studio",
  ollama: "Ollama",
  "hugging-face": "Hugging Face",
  "llama-cpp": "llama.cpp",
};

export const foundModel = z.object({
  /** What opens it: a file, of a split model the first part, or the folder of a Hugging Face model. */
  path,
  /** As its place names it: "llama3.2:1b", "org/name", a file name. */
  name: z.string(),
  place: placeKind,
  /** Where in the place it lies, in a few words. */
  where: z.string(),
  /** Of all its parts. */
  bytes: z.number(),
  parts: z.number(),
  /** "Q4_K_M"; null where its header does not tell. */
  variant: z.string().nullable(),
  architecture: z.string().nullable(),
  /** Milliseconds since 1970. */
  changedAt: z.number(),
  /** Why it cannot be opened as it lies there. */
  problem: z.string().nullable(),
});
export type FoundModel = View<typeof foundModel>;

export const foundPlace = z.object({
  kind: placeKind,
  folder: path,
  models: z.number(),
  /** Why not all of it was looked at, or nothing. */
  note: z.string().nullable(),
  /** New files in it are noticed. */
  watched: z.boolean(),
});
export type FoundPlace = View<typeof foundPlace>;

export const foundList = z.object({
  /** Each file once, however many names it has. */
  models: z.array(foundModel),
  /** Those that are there, and those that the user named. */
  places: z.array(foundPlace),
  /** Where other programs keep models was looked in too: it can be switched off. */
  usual: z.boolean(),
  /** Every place was looked at. */
  complete: z.boolean(),
});
export type FoundList = View<typeof foundList>;

export const findInput = z.object({
  /** Goes on until it is left, with a list for each change. */
  watch: z.boolean().default(false),
});

/** What lies at a path: a model, or a folder with some. */
export const lookInput = z.object({ path });
export const lookResult = z.object({
  /** It can be opened by this path itself. */
  isModel: z.boolean(),
  /** Of a folder: the models in it. */
  models: z.array(foundModel),
  note: z.string().nullable(),
});
export type LookResult = View<typeof lookResult>;
