/** `rlx session` over the data folder that a window's engine writes to. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readDocument } from "../../contract/views/session.ts";
import { memoryDocument } from "../../testing/memoryDocument.ts";
import { rlx } from "../../testing/rlx.ts";
import { requireCommandLine } from "../../testing/rlxProcess.ts";
import { createSessions } from "../files/sessions.ts";

let folder: string;
let home: string;
beforeAll(async () => {
  requireCommandLine();
  folder = await mkdtemp(join(tmpdir(), "rlx-session-cli-"));
  home = join(folder, "home");
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const session = (...words: string[]) => rlx(["session", ...words], { home });

it("lists, exports, imports and removes sessions", async () => {
  expect((await session()).out).toBe("No sessions are kept yet.\n");
  await createSessions(home).save("first-one", JSON.stringify(memoryDocument(1)));
  expect((await session("list")).out).toMatch(/first-one +1970-01-01 00:00 +\S+ KB +Model 1 Q4_K_M/u);
  const file = join(folder, "talk.rlxsession");
  expect((await session("export", "-o", file, "--names-only")).code).toBe(0);
  const handed = readDocument(await readFile(file, "utf8"));
  expect(handed.models[0]?.source).toEqual({ kind: "name", name: "m.gguf" });
  expect(readDocument((await session("export", "first-one")).out)).toEqual(memoryDocument(1));
  expect((await session("export", "-o", file)).err).toContain("exists already");

  const imported = JSON.parse((await session("import", file, "--json")).out) as { readonly session: string };
  expect(readDocument(await createSessions(home).load(imported.session))).toEqual(handed);
  expect((await session("remove", imported.session)).code).toBe(0);
  expect((await session("remove", imported.session)).err).toContain("there is no session");

  await writeFile(file, "{}");
  expect((await session("import", file)).err).toContain("got JSON of another kind, expected a session");
  expect((await session("forget")).err).toContain("got forget, expected one of list, export, import, remove");
  expect((await session("remove", "../evil")).err).toContain("expected the id of a session");
});
