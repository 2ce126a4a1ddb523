/** `rlx profile`: records where the time goes, or reads a recording; alone or beside another one. */
import { compareRecordings } from "../../contract/recordings/compare.ts";
import type { ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { profileText } from "./graphRuns.ts";
import { isGraphText } from "./graphText.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, namingDevices, openModel, unfinished, wholeNumber } from "./client.ts";
import { phaseText } from "./output.ts";
import { checkSave, checkTrace, isRecording, loadRecording, saveRecording, writeTrace } from "./profileFiles.ts";
import type { Grouping } from "./profilePrint.ts";
import { printComparison, printProfile } from "./profilePrint.ts";

interface ProfileOptions extends CommonOptions {
  readonly pp: string;
  readonly tg: string;
  readonly threads?: string;
  readonly device: string;
  readonly by: string;
  readonly save?: string;
  readonly trace?: string;
  readonly perfetto?: string;
  readonly compare?: readonly string[];
}

export async function profile(command: Command, choice: ModelChoice, options: ProfileOptions): Promise<number> {
  if (isGraphText(choice.file)) return profileText(command, choice.file, options);
  const { output } = command;
  const by = groupingOf(options.by);
  const traces = (["trace", "perfetto"] as const).flatMap((option) => {
    const path = options[option];
    return path === undefined ? [] : [{ option, path }];
  });
  for (const { option, path } of traces) await checkTrace(option, path);
  if (options.save !== undefined) await checkSave(options.save);
  const others: ProfileView[] = [];
  for (const path of othersOf(choice, options)) others.push(await loadRecording(path));
  const own = others.length === 2 ? [] : [await ownRecording(command, choice, options)];
  const [first, second] = others.length === 2 ? others : [...others, ...own];
  const shown = [first, second].filter((each) => each !== undefined);
  for (const { path } of traces) await writeTrace(path, shown);
  const [recorded] = own;
  if (options.save !== undefined && recorded !== undefined) await saveRecording(options.save, recorded);
  if (first !== undefined && second !== undefined) {
    const comparison = compareRecordings(first, second);
    output.value({ recordings: shown, comparison });
    printComparison(output, shown, comparison);
  } else if (first !== undefined) {
    output.value(first);
    printProfile(output, first, by);
  }
  return 0;
}

function groupingOf(text: string): Grouping {
  if (text === "op" || text === "layer") return text;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --by: got ${text}, expected op or layer`);
}

/** The earlier recording for the one that is named or made now, or both of them. */
function othersOf(choice: ModelChoice, { compare = [], save }: ProfileOptions): readonly string[] {
  const named = choice.file !== undefined || choice.offer !== undefined;
  const expected = named ? 1 : 2;
  if (compare.length !== 0 && compare.length !== expected)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx] --compare: got ${compare.length} recordings, expected ${named ? "one, because a file is named too" : "two, or one and a file"}`,
      { hint: "rlx profile model.gguf --compare yesterday.rlxtrace, or rlx profile --compare a.rlxtrace b.rlxtrace" },
    );
  if (save !== undefined && compare.length === 2)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --save: got no recording that is made now, expected one");
  return compare;
}

async function ownRecording(command: Command, choice: ModelChoice, options: ProfileOptions): Promise<ProfileView> {
  if (choice.file !== undefined && (await isRecording(choice.file).catch(() => false)))
    return loadRecording(choice.file);
  const asked = {
    device: await deviceOption(command, options.device),
    promptTokens: wholeNumber("pp", options.pp, 1, 65_536),
    generateTokens: wholeNumber("tg", options.tg, 1, 4096),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  };
  const { model } = await openModel(command, choice);
  const items = command.client.stream("profile.run", { ...asked, model }, { signal: command.signal });
  for await (const item of namingDevices(command, items, [asked.device])) {
    if (item.kind === "phase") command.output.progress(phaseText(item), item.name);
    else return item.profile;
  }
  throw unfinished(command.signal);
}
