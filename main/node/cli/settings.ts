/** `rlx settings`: what is set once for this machine, shown and changed. */
import { resolve } from "node:path";
import type { Preferences, PreferencesChange } from "../../contract/views/preferences.ts";
import { APPEARANCES, FIRST_SUBJECTS, INITIAL_PREFERENCES } from "../../contract/views/preferences.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions } from "./client.ts";
import { bytesText } from "./output.ts";

interface Setting {
  /** As people write it. */
  readonly name: string;
  readonly expects: string;
  readonly text: (now: Preferences) => string;
  /** undefined: not understood. */
  readonly read: (word: string) => PreferencesChange | undefined;
}

const onOff = (word: string): boolean | undefined => (word === "on" ? true : word === "off" ? false : undefined);

function memoryOf(word: string): number | null | undefined {
  if (word === "none") return null;
  const [, count, unit] = /^(\d{1,6}(?:\.\d{1,3})?) ?([mg])b?$/iu.exec(word) ?? [];
  if (count === undefined) return undefined;
  const bytes = Math.round(Number(count) * (unit?.toLowerCase() === "g" ? 1e9 : 1e6));
  return bytes >= 64e6 ? bytes : undefined;
}

const SETTINGS: readonly Setting[] = [
  {
    ...{
      name: "appearance",
      expects: APPEARANCES.join(", "),
      text: ({ appearance }) => appearance ?? "as each window was left",
    },
    read: (word) => {
      const appearance = APPEARANCES.find((each) => each === word);
      return appearance && { appearance };
    },
  },
  {
    ...{ name: "first-subject", expects: FIRST_SUBJECTS.join(", "), text: ({ firstSubject }) => firstSubject },
    read: (word) => {
      const firstSubject = FIRST_SUBJECTS.find((each) => each === word);
      return firstSubject && { firstSubject };
    },
  },
  {
    ...{ name: "memory-limit", expects: "none, or a size from 64M on, such as 8G" },
    text: ({ memoryLimit }) => (memoryLimit === null ? "none" : bytesText(memoryLimit)),
    read: (word) => {
      const memoryLimit = memoryOf(word);
      return memoryLimit === undefined ? undefined : { memoryLimit };
    },
  },
  {
    ...{ name: "notifications", expects: "on, off", text: ({ notifications }) => (notifications ? "on" : "off") },
    read: (word) => {
      const notifications = onOff(word);
      return notifications === undefined ? undefined : { notifications };
    },
  },
  {
    ...{ name: "find-models", expects: "on, off", text: ({ findModels }) => (findModels ? "on" : "off") },
    read: (word) => {
      const findModels = onOff(word);
      return findModels === undefined ? undefined : { findModels };
    },
  },
  {
    ...{ name: "data-folder", expects: "usual, or a folder", text: ({ dataFolder }) => dataFolder ?? "usual" },
    read: (word) => (word === "" ? undefined : { dataFolder: word === "usual" ? null : resolve(word) }),
  },
];

const misuse = (what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[rlx settings] ${what}`, { hint });

/** Without a name all of them; with a name and a word the change; `reset` for all. */
export async function settings(
  { client, output }: Command,
  name: string | undefined,
  word: string | undefined,
  _options: CommonOptions,
): Promise<undefined> {
  const view = await changed();
  output.value(view);
  if (view.problem !== null) output.line(`! ${view.problem}`);
  for (const setting of SETTINGS) output.line(`${setting.name.padEnd(16)} ${setting.text(view.preferences)}`);
  output.line(`${"model-folders".padEnd(16)} ${view.preferences.modelFolders.join(", ") || "none"} (rlx models add)`);
  output.line(`\nKept in ${view.file}. The data folder in use is ${view.dataFolder}.`);
  return undefined;

  async function changed() {
    if (name === undefined) return client.call("preferences.get", {});
    if (name === "reset" && word === undefined) {
      const { modelFolders: _kept, ...initial } = INITIAL_PREFERENCES;
      return client.call("preferences.set", initial);
    }
    const setting = SETTINGS.find((each) => each.name === name);
    if (setting === undefined)
      throw misuse(
        `got ${name}, expected one of ${SETTINGS.map((each) => each.name).join(", ")}, reset`,
        "rlx settings shows them.",
      );
    const change = word === undefined ? undefined : setting.read(word);
    if (change === undefined)
      throw misuse(
        `${name}: got ${word ?? "nothing"}, expected ${setting.expects}`,
        `For example rlx settings ${name} …`,
      );
    return client.call("preferences.set", change);
  }
}
