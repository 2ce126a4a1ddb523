/**
 * Recordings as files (`.rlxtrace`): JSON with its columns in base64. A file is untrusted: its form, the lengths of its columns,
 * every index and every number are checked, and what it says of itself (rows, sentence) is made anew from the columns.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { profileView } from "../views/run.ts";
import type { ProfileView } from "../views/run.ts";
import type { Columns } from "./complete.ts";
import { completeProfile } from "./complete.ts";
import { packArrays, unpackArrays } from "./packArrays.ts";

export const RECORDING_SUFFIX = ".rlxtrace";
/** A recording of a thousand tokens of a large model. */
export const LARGEST_RECORDING = 256 * 1024 * 1024;
const VERSION = 1;
const MOST_LANES = 64;
const MOST_THREADS = 1024;
/** A day: what is longer is no time of a recording. */
const LATEST_SECONDS = 86_400;

const columns = profileView.omit({ sentence: true, prefill: true, decode: true });
const file = z.object({ rlxtrace: z.number().int(), recording: z.unknown() });

export function recordingText(profile: ProfileView): string {
  const { sentence: _, prefill: __, decode: ___, ...kept } = profile;
  return JSON.stringify({ rlxtrace: VERSION, recording: packArrays(kept) });
}

/** What a file of ours begins with. */
export const RECORDING_START = '{"rlxtrace":';

/** `name`: of the file, for the error. */
export function readRecording(name: string, text: string): ProfileView {
  if (text.length > LARGEST_RECORDING) throw fault(name, `got ${text.length} bytes`, `at most ${LARGEST_RECORDING}`);
  const parsed = file.safeParse(jsonOf(text));
  if (!parsed.success) throw fault(name, "got something else", `a recording (${RECORDING_SUFFIX})`);
  const { rlxtrace, recording } = parsed.data;
  if (rlxtrace !== VERSION)
    throw fault(name, `got a recording of version ${rlxtrace}`, `version ${VERSION}`, "Update the workbench.");
  const read = columns.safeParse(unpackArrays(recording));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw fault(name, `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`, "a whole recording");
  }
  const found = flawOf(read.data);
  if (found !== "") throw fault(name, found, "a whole recording");
  return completeProfile(read.data);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const fault = (
  name: string,
  got: string,
  expected: string,
  hint = "Record it again, or choose another file.",
): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[recording] ${name}: ${got}, expected ${expected}`, { hint });

type Numbers = ArrayLike<number> & Iterable<number>;

/** Empty where all columns fit each other. */
function flawOf({
  strings,
  lanes,
  steps,
  slices,
  threads,
  memory,
  recordedAt,
  peakBandwidth,
}: View<typeof columns>): string {
  const [stepCount, count] = [steps.start.length, slices.start.length];
  const lengths: readonly (readonly [string, Numbers, number])[] = [
    ...(["seconds", "tokens", "decode"] as const).map((name) => [`steps.${name}`, steps[name], stepCount] as const),
    ...(["seconds", "lane", "step", "op", "label", "bytes"] as const).map(
      (name) => [`slices.${name}`, slices[name], count] as const,
    ),
    ["slices.nodeStart", slices.nodeStart, count + 1],
    ["threads.busy", threads.busy, Number.isInteger(threads.count) ? threads.count * count : -1],
    ["memory.resident", memory.resident, memory.time.length],
    ["memory.states", memory.states, memory.time.length],
  ];
  for (const [name, column, length] of lengths)
    if (column.length !== length) return `${name}: got ${column.length} values instead of ${length}`;
  if (threads.count < 0 || threads.count > MOST_THREADS) return `threads: got ${threads.count}`;
  if (lanes.length > MOST_LANES) return `lanes: got ${lanes.length}`;
  const bounds: readonly (readonly [string, Numbers, number])[] = [
    ["slices.lane", slices.lane, lanes.length],
    ["slices.step", slices.step, stepCount],
    ["slices.op", slices.op, strings.length],
    ["slices.label", slices.label, strings.length],
    ["slices.nodeStart", slices.nodeStart, slices.nodes.length + 1],
    ["steps.decode", steps.decode, 2],
  ];
  for (const [name, column, bound] of bounds)
    for (const value of column) if (value >= bound) return `${name}: got ${value}, where ${bound} is too much`;
  const amounts: readonly (readonly [string, Numbers, number])[] = [
    ["steps.seconds", steps.seconds, LATEST_SECONDS],
    ["slices.seconds", slices.seconds, LATEST_SECONDS],
    ["threads.busy", threads.busy, LATEST_SECONDS],
    ...(
      [
        ["slices.bytes", slices.bytes],
        ["memory.resident", memory.resident],
        ["memory.states", memory.states],
      ] as const
    ).map(([name, column]) => [name, column, Number.MAX_SAFE_INTEGER] as const),
    ["recordedAt", [recordedAt], 8.64e15],
    ["peakBandwidth", peakBandwidth === null ? [] : [peakBandwidth.value], Number.MAX_SAFE_INTEGER],
  ];
  for (const [name, column, most] of amounts)
    for (const value of column) if (!(value >= 0 && value <= most)) return `${name}: got ${value}`;
  for (const [name, column] of [
    ["steps.start", steps.start],
    ["slices.start", slices.start],
    ["slices.nodeStart", slices.nodeStart],
    ["memory.time", memory.time],
  ] as const) {
    const most = name === "slices.nodeStart" ? slices.nodes.length : LATEST_SECONDS;
    let before = 0;
    for (const value of column) {
      if (!(value >= before && value <= most)) return `${name}: got ${value} after ${before}`;
      before = value;
    }
  }
  return "";
}

/** For a list: "Qwen3 0.6B on cpu, 14:02:31". */
export const recordingTitle = ({ model, device, recordedAt }: Columns): string =>
  `${model} on ${device}, ${new Date(recordedAt).toLocaleTimeString("en-GB")}`;
