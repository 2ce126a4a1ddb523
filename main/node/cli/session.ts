/** `rlx session`: the sessions of windows that are kept, handed on as files. */
import { randomUUID } from "node:crypto";

import { resolve } from "node:path";
import { readDocument, SESSION_ENDING, sessionId, withoutPaths } from "../../contract/views/session.ts";
import type { SessionRow } from "../../contract/views/session.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions } from "./client.ts";
import { writeNew } from "./newFile.ts";
import { bytesText } from "./output.ts";

export const SESSION_ACTIONS = ["list", "export", "import", "remove"] as const;

export interface SessionOptions extends CommonOptions {
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly namesOnly?: boolean;
}

/** `what`: one of SESSION_ACTIONS; `name`: the id of a session, or the file to import. */
export async function session(
  command: Command,
  what: string | undefined,
  name: string | undefined,
  options: SessionOptions,
): Promise<undefined> {
  const action = SESSION_ACTIONS.find((each) => each === (what ?? "list"));
  if (action === undefined)
    throw misuse(`got ${what ?? ""}, expected one of ${SESSION_ACTIONS.join(", ")}`, "For example rlx session list.");
  if (action !== "export" && (options.output !== undefined || options.namesOnly === true || options.overwrite === true))
    throw misuse(`--output, --overwrite, --names-only: got one with ${action}, expected export`, "Leave it out.");
  if (action === "list" && name !== undefined)
    throw misuse(`list: got ${name}, expected nothing more`, "For example rlx session export.");
  switch (action) {
    case "list":
      return list(command);
    case "export":
      return exportOne(command, name, options);
    case "import":
      return importOne(command, required(name, "import", `a ${SESSION_ENDING} file`));
    case "remove":
      return remove(command, required(name, "remove", "the id of a session"));
  }
}

const misuse = (what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[rlx session] ${what}`, { hint });

function required(name: string | undefined, action: string, expected: string): string {
  if (name !== undefined && name !== "") return name;
  throw misuse(`${action}: got nothing, expected ${expected}`, "rlx session list shows the sessions.");
}

const rowsOf = async ({ client }: Command): Promise<readonly SessionRow[]> =>
  (await client.call("sessions.list", { limit: 200 })).sessions;

/** Its problem is the engine's to say; a name that no session can have is ours. */
function idOf(name: string): string {
  const read = sessionId.safeParse(name);
  if (read.success) return read.data;
  throw misuse(`got ${name}, expected the id of a session`, "rlx session list shows them.");
}

async function list(command: Command): Promise<undefined> {
  const rows = await rowsOf(command);
  command.output.value(rows);
  if (rows.length === 0) command.output.line("No sessions are kept yet.");
  else
    command.output.table(
      ["session", "saved", "size", "models"],
      rows.map(({ session: id, savedAt, bytes, models, problem }) => [
        id,
        new Date(savedAt).toISOString().slice(0, 16).replace("T", " "),
        bytesText(bytes),
        problem ?? models.join(", "),
      ]),
      { right: [2], yields: 3 },
    );
}

async function exportOne(command: Command, name: string | undefined, options: SessionOptions): Promise<undefined> {
  const { client, output } = command;
  const id = name === undefined ? (await rowsOf(command))[0]?.session : idOf(name);
  if (id === undefined) throw misuse("export: there are no sessions yet", "Open a model in a window first.");
  const document = readDocument((await client.call("sessions.load", { session: id })).text);
  const handed = options.namesOnly === true ? withoutPaths(document) : document;
  const text = `${JSON.stringify(handed, null, 1)}\n`;
  if (options.output === undefined) {
    if (output.json) output.value(handed);
    else output.write(text);
    return;
  }
  const path = await writeNew("session", options.output, text, options.overwrite === true);
  output.value({ session: id, path });
  output.line(`${bytesText(text.length)} in ${path}`);
}

async function importOne({ client, output }: Command, name: string): Promise<undefined> {
  const path = resolve(name);
  const document = readDocument((await client.call("sessions.read", { path })).text);
  const id = randomUUID();
  await client.call("sessions.save", { session: id, text: JSON.stringify(document) });
  output.value({ session: id, models: document.models.length });
  output.line(`Imported as ${id}. The first screen of a window offers it.`);
}

async function remove({ client, output }: Command, name: string): Promise<undefined> {
  const id = idOf(name);
  // One that is not there is said.
  await client.call("sessions.load", { session: id }).catch((error: unknown) => {
    if (toWireError(error).code === "INPUT_NOT_FOUND") throw error;
  });
  await client.call("sessions.remove", { session: id });
  output.value({ session: id });
  output.line(`Removed ${id}.`);
}
