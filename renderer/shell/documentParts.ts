/** Every part of a session document, in the order in which they are restored. The files declare them; this list is all that knows them. */
import { benchPart } from "../features/bench/part.ts";
import { graphPart } from "../features/graph/part.ts";
import { notesPart } from "../features/notes/slice.ts";
import { profilePart } from "../features/profile/part.ts";
import { columnsPart, runsPart, talkPart } from "../features/run/part.ts";
import { serverPart } from "../features/server/part.ts";
import { trainPart } from "../features/train/part.ts";
import { textPart } from "../features/text/slice.ts";
import type { DocumentPart } from "../session/document.ts";
import { adaptersPart, targetPart, viewPart } from "../session/parts.ts";
import type { WorkbenchState } from "./store.ts";

export const DOCUMENT_PARTS: readonly DocumentPart<WorkbenchState>[] = [
  // The model is opened once more with them: what follows is about that one.
  adaptersPart,
  targetPart,
  talkPart,
  columnsPart,
  runsPart,
  benchPart,
  serverPart,
  trainPart,
  graphPart,
  profilePart,
  notesPart,
  textPart,
  viewPart,
];
