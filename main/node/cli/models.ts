/** `rlx models`: the models that lie on this machine, and the folders that they are looked for in. */
import { resolve } from "node:path";
import type { FoundList } from "../../contract/views/found.ts";
import { PLACE_TITLES } from "../../contract/views/found.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions } from "./client.ts";
import { unfinished } from "./client.ts";
import { bytesText } from "./output.ts";

const ACTIONS = ["list", "add", "remove"] as const;

/** `what`: one of ACTIONS; `folder`: the one to add or remove. */
export async function models(
  command: Command,
  what: string | undefined,
  folder: string | undefined,
  _options: CommonOptions,
): Promise<undefined> {
  const action = ACTIONS.find((each) => each === (what ?? "list"));
  if (action === undefined)
    throw misuse(`got ${what ?? ""}, expected one of ${ACTIONS.join(", ")}`, "For example rlx models add ~/models.");
  if (action === "list") {
    if (folder !== undefined) throw misuse(`list: got ${folder}, expected nothing more`, "For example rlx models.");
    return list(command);
  }
  if (folder === undefined || folder === "")
    throw misuse(`${action}: got nothing, expected a folder`, `For example rlx models ${action} ~/models.`);
  const call = action === "add" ? "models.addFolder" : "models.removeFolder";
  const { preferences } = await command.client.call(call, { path: resolve(folder) });
  command.output.value({ folders: preferences.modelFolders });
  command.output.line(
    preferences.modelFolders.length === 0
      ? "No folders of yours are looked in."
      : `Looked in: ${preferences.modelFolders.join(", ")}`,
  );
  return undefined;
}

const misuse = (what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[rlx models] ${what}`, { hint });

const NO_MODELS = {
  searched: "No models were found on this machine.",
  off: "No models were found: where other programs keep theirs is not looked in (rlx settings find-models on).",
};

async function list({ client, output, signal }: Command): Promise<undefined> {
  let last: FoundList | undefined;
  for await (const found of client.stream("models.find", {}, { signal })) {
    last = found;
    output.progress(`${found.models.length} models`);
  }
  output.endProgress();
  if (last?.complete !== true) throw unfinished(signal);
  output.value(last);
  const { models: found, places } = last;
  if (found.length === 0) output.line(NO_MODELS[last.usual ? "searched" : "off"]);
  else
    output.table(
      ["name", "type", "size", "where", "path"],
      found.map(({ name, variant, bytes, where, path, problem }) => [
        name,
        problem === null ? (variant ?? "") : "damaged",
        bytesText(bytes),
        where,
        path,
      ]),
      { right: [2], yields: 3 },
    );
  for (const { name, problem } of found) if (problem !== null) output.line(`! ${name}: ${problem}`);
  for (const { folder, kind, note } of places)
    if (note !== null) output.line(`! ${PLACE_TITLES[kind]}, ${folder}: ${note}`);
  if (places.length > 0) output.line(`\nLooked in: ${places.map((place) => place.folder).join(", ")}`);
  return undefined;
}
