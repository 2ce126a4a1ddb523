/**
 * Session documents in a folder, one file each. A file is written whole under a temporary name and renamed: a process that dies
 * leaves the old document or the new one. What lies there is untrusted: size and form are checked.
 */
import { lstat, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { LARGEST_DOCUMENT, readDocument, SESSION_ENDING, sessionId } from "../../contract/views/session.ts";
import type { SessionDocument, SessionRow } from "../../contract/views/session.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Sessions } from "../../engine/services.ts";
import { oneAtATimeOfEach, writeAtomically } from "./smallFile.ts";

/** Documents that are kept; of more, those that were saved longest ago go. */
const MOST_SESSIONS = 200;
const ENDING = ".json";
/** A temporary file of a process that died, by its age. */
const ABANDONED_MS = 3_600_000;

export function createSessions(dataFolder: string, most = MOST_SESSIONS): Sessions {
  const folder = join(dataFolder, "sessions");
  const pathOf = (session: string): string => join(folder, sessionId.parse(session) + ENDING);
  /** One write of a session after the other: the last one stays. */
  const serially = oneAtATimeOfEach();

  const files = async (): Promise<
    readonly { readonly session: string; readonly bytes: number; readonly at: number }[]
  > => {
    const names = await readdir(folder).catch(() => []);
    const found = await Promise.all(
      names.map(async (name) => {
        const session = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : "";
        if (!sessionId.safeParse(session).success) return undefined;
        const info = await lstat(join(folder, name)).catch(() => undefined);
        return info?.isFile() === true ? { session, bytes: info.size, at: info.mtimeMs } : undefined;
      }),
    );
    return found.filter((each) => each !== undefined).sort((a, b) => b.at - a.at);
  };

  const read = async (session: string): Promise<string> => {
    const path = pathOf(session);
    const info = await lstat(path).catch(() => undefined);
    if (info?.isFile() !== true)
      throw new WorkbenchError("INPUT_NOT_FOUND", `[session] there is no session ${JSON.stringify(session)}`, {
        hint: "rlx session list shows those that are kept.",
      });
    // A letter takes up to four bytes.
    if (info.size > 4 * LARGEST_DOCUMENT)
      throw new WorkbenchError("INPUT_LIMIT", `[session] ${session}: got ${info.size} bytes, which no session has`, {
        hint: "Remove it.",
      });
    return readFile(path, "utf8");
  };

  /** What processes that died have left, and the sessions beyond the most that are kept. */
  const tidy = async (kept: string): Promise<void> => {
    const before = Date.now() - ABANDONED_MS;
    for (const name of await readdir(folder).catch(() => [])) {
      if (!name.startsWith(".") || !name.endsWith(".part")) continue;
      const info = await lstat(join(folder, name)).catch(() => undefined);
      if (info !== undefined && info.mtimeMs < before) await rm(join(folder, name), { force: true });
    }
    const others = (await files()).filter(({ session }) => session !== kept);
    for (const { session } of others.slice(most - 1)) await rm(pathOf(session), { force: true });
  };

  const rowOf = async ({ session, bytes, at }: { session: string; bytes: number; at: number }): Promise<SessionRow> => {
    try {
      const document = readDocument(await read(session));
      return { session, bytes, savedAt: document.savedAt, models: titles(document), problem: null };
    } catch (error) {
      return { session, bytes, savedAt: at, models: [], problem: toWireError(error).message };
    }
  };

  let tidied = false;
  return {
    async list(limit) {
      const rows: SessionRow[] = [];
      for (const file of (await files()).slice(0, limit)) rows.push(await rowOf(file));
      return rows;
    },
    async load(session) {
      const text = await read(session);
      readDocument(text);
      return text;
    },
    read: textOf,
    async save(session, text) {
      const path = pathOf(session);
      readDocument(text);
      await serially(session, () => writeAtomically(path, text));
      if (tidied) return;
      tidied = true;
      await tidy(session);
    },
    remove: (session) => serially(session, () => rm(pathOf(session), { force: true })),
  };
}

/** Of a session's file anywhere. */
async function textOf(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    // A letter takes up to four bytes.
    if (size > 4 * LARGEST_DOCUMENT)
      throw new WorkbenchError("INPUT_LIMIT", `[session] ${path}: got ${size} bytes, which no session has`, {
        hint: `Choose a ${SESSION_ENDING} file.`,
      });
    const text = await readFile(path, "utf8");
    readDocument(text);
    return text;
  } catch (error) {
    if (error instanceof WorkbenchError) throw error;
    throw new WorkbenchError("INPUT_NOT_FOUND", `[session] ${path} cannot be read: ${toWireError(error).message}`, {
      hint: "Check the path.",
      cause: error,
    });
  }
}

/** The open model comes first. */
const titles = ({ models, open }: SessionDocument): string[] =>
  [...models]
    .sort((a, b) => Number(b.identity === open) - Number(a.identity === open))
    .map(({ title, variant }) => [title, variant].filter((part) => part !== "").join(" "));
