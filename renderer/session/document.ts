/**
 * The parts of a session document. A feature declares one for what it wants to find again, in its own folder; the shell has the
 * list (shell/documentParts.ts). A value that comes back is untrusted: it is checked against the part's schema first.
 */
import type { z } from "zod";
import type { View } from "../../main/contract/define.ts";
import type { Json } from "../../main/diagnostics/errors.ts";
import type { SessionState } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

export interface PartDefinition<Own, Readable, S extends z.ZodType> {
  /** As it stands in the document: never renamed. */
  readonly name: string;
  /** `window`: there once. `model`: for each model, and there again when that model is opened again. */
  readonly of: "window" | "model";
  readonly schema: S;
  /** Plain data; null where there is nothing to find again. */
  readonly save: (state: Readable) => View<S> | null;
  /** After the open model is shown. Other parts may not be restored yet. */
  readonly restore: (value: View<S>, tools: SliceTools<Own, Readable>) => void | Promise<void>;
}

/** A part as the list holds it. */
export interface DocumentPart<State> {
  readonly name: string;
  readonly of: "window" | "model";
  readonly save: (state: State) => Json | null;
  /** False: the value is not one of this part. */
  readonly restore: (value: unknown, tools: SliceTools<never, never>) => Promise<boolean>;
}

/** `documentPart<RunSlice>()({ name: "talk", … })`: the slice first, the rest follows. */
export const documentPart =
  <Own, Readable = SessionState & Own>() =>
  <S extends z.ZodType>(part: PartDefinition<Own, Readable, S>): DocumentPart<Readable> => ({
    name: part.name,
    of: part.of,
    save: (state) => part.save(state) as Json | null,
    async restore(value, tools) {
      const read = part.schema.safeParse(value);
      if (!read.success) return false;
      await part.restore(read.data as View<S>, tools);
      return true;
    },
  });
