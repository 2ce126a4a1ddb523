/** What a person writes down about the open model. */
import { z } from "zod";
import { documentPart } from "../../session/document.ts";
import type { SliceTools } from "../../session/slice.ts";

export interface NotesSlice {
  readonly notes: string;
  readonly setNotes: (notes: string) => void;
}

/** Letters of a note. */
export const LONGEST_NOTE = 100_000;

export function createNotesSlice({ set, on }: SliceTools<NotesSlice>): NotesSlice {
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set({ notes: "" });
  });
  return { notes: "", setNotes: (notes) => set({ notes: notes.slice(0, LONGEST_NOTE) }) };
}

export const notesPart = documentPart<NotesSlice>()({
  name: "notes",
  of: "model",
  schema: z.string().max(LONGEST_NOTE),
  save: ({ notes }) => (notes === "" ? null : notes),
  restore: (notes, { set }) => set({ notes }),
});
