/** Files that go with a question, as text: what is taken, why one is not, and how it stands in the prompt. */
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { textOf } from "../../session/droppedFile.ts";
import { bytes as sizeText } from "../../ui/format.ts";

export interface Attachment {
  readonly name: string;
  /** Of the file. */
  readonly bytes: number;
  readonly text: string;
}

const LARGEST_FILE = 250_000;
/** Of one question. */
const MOST_FILES = 8;

/** Kinds of files by their first bytes: what people drop that is no text. */
const KINDS: readonly (readonly [what: string, start: readonly number[], at?: number])[] = [
  ["a PDF", [0x25, 0x50, 0x44, 0x46]],
  ["a PNG picture", [0x89, 0x50, 0x4e, 0x47]],
  ["a JPEG picture", [0xff, 0xd8, 0xff]],
  ["a GIF picture", [0x47, 0x49, 0x46, 0x38]],
  ["a WebP picture", [0x57, 0x45, 0x42, 0x50], 8],
  ["a film or a HEIC picture", [0x66, 0x74, 0x79, 0x70], 4],
  ["a sound file", [0x49, 0x44, 0x33]],
  ["a ZIP archive, or a document in one (docx, xlsx, pptx)", [0x50, 0x4b, 0x03, 0x04]],
  ["a gzip archive", [0x1f, 0x8b]],
  ["an old Office document", [0xd0, 0xcf, 0x11, 0xe0]],
  ["a GGUF model", [0x47, 0x47, 0x55, 0x46]],
  ["a program", [0x7f, 0x45, 0x4c, 0x46]],
  ["a program", [0xcf, 0xfa, 0xed, 0xfe]],
  ["an SQLite database", [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65]],
];

/** What the bytes are, where they are known to be no text; null: they may be one. */
const binaryKind = (head: Uint8Array): string | null =>
  KINDS.find(([, start, at = 0]) => start.every((byte, i) => head[at + i] === byte))?.[0] ?? null;

const refused = (name: string, what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_UNREADABLE", `[attachment] the file ${name}: got ${what}, expected text`, { hint });

async function headOf(file: File): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(0, 64).arrayBuffer());
  } catch (cause) {
    throw new WorkbenchError("INPUT_UNREADABLE", `[attachment] ${file.name} cannot be read`, {
      hint: "It may be a folder, or have been moved. Choose it again.",
      cause,
    });
  }
}

/** A file as text in UTF-8 or, with a mark at its start, UTF-16. `before`: how many go with the question already. */
export async function readAttachment(file: File, before: number): Promise<Attachment> {
  const { name, size } = file;
  if (before >= MOST_FILES)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[attachment] the file ${name}: got more than ${MOST_FILES} files for one question, expected ${MOST_FILES} at most`,
      { hint: "Send some of them first, or put them into one file." },
    );
  const head = await headOf(file);
  const kind = binaryKind(head);
  if (kind !== null) throw refused(name, kind, "Attach its text: the models here read text only.");
  if (size > LARGEST_FILE)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[attachment] the file ${name}: got ${sizeText(size)}, expected ${sizeText(LARGEST_FILE)} at most`,
      { hint: "Attach the part that the question is about: all of it is put into the prompt." },
    );
  const wide =
    head[0] === 0xff && head[1] === 0xfe ? "utf-16le" : head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : null;
  let text: string;
  try {
    text = await textOf(file, LARGEST_FILE, new TextDecoder(wide ?? "utf-8", { fatal: true }));
  } catch (cause) {
    if (cause instanceof WorkbenchError) throw cause;
    throw refused(name, "bytes that are not UTF-8", "Save it as UTF-8 and attach it again.");
  }
  if (text.includes("\0")) throw refused(name, "bytes that are no text", "Attach a text file.");
  return { name, bytes: size, text };
}

/** The question with its files before it: each between two lines that name it. */
export const promptWith = (prompt: string, attachments: readonly Attachment[]): string =>
  [
    ...attachments.map(
      ({ name, text }) => `--- File: ${name} ---\n${text.replace(/\n$/u, "")}\n--- End of ${name} ---`,
    ),
    ...(prompt === "" ? [] : [prompt]),
  ].join("\n\n");
