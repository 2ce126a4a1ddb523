import { describe, expect, it } from "vitest";
import { madeRecording } from "../../testing/recordings.ts";
import { readRecording, RECORDING_START, recordingText } from "./recordingFile.ts";

const made = madeRecording({ seed: 2 });
const text = recordingText(made);
const kept = JSON.parse(text) as { rlxtrace: number; recording: Record<string, unknown> };

/** The file with one value changed: a path, and what becomes of it. */
function changed(path: string, change: (value: unknown) => unknown): string {
  const copy = structuredClone(kept);
  const names = path.split(".");
  const last = names.pop()!;
  const place = names.reduce<Record<string, unknown>>(
    (at, name) => at[name] as Record<string, unknown>,
    copy.recording,
  );
  place[last] = change(place[last]);
  return JSON.stringify(copy);
}

/** A column with another value in it. */
const column =
  (
    type: typeof Float32Array | typeof Float64Array | typeof Uint32Array | typeof Uint8Array,
    at: number,
    value: number,
  ) =>
  (packed: unknown): unknown => {
    const { $array, data } = packed as { $array: string; data: string };
    const values = new type(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)).buffer);
    values[at] = value;
    return { $array, data: Buffer.from(values.buffer).toString("base64") };
  };
const shorter = (packed: unknown): unknown => {
  const { $array, data } = packed as { $array: string; data: string };
  return { $array, data: Buffer.from(data, "base64").subarray(0, -8).toString("base64") };
};

describe("a recording as a file", () => {
  it("comes back as it was", () => {
    expect(text.startsWith(RECORDING_START)).toBe(true);
    expect(readRecording("a", text)).toEqual(made);
  });

  it("says of itself what its columns say, whatever the file claims", () => {
    const lies = { ...kept, recording: { ...kept.recording, sentence: "All is well.", decode: { rows: [] } } };
    expect(readRecording("a", JSON.stringify(lies))).toEqual(made);
  });

  it.each([
    ["no JSON", "{", /got something else, expected a recording/],
    ["another JSON", '{"traceEvents":[]}', /got something else, expected a recording/],
    ["a newer version", JSON.stringify({ ...kept, rlxtrace: 2 }), /version 2, expected version 1/],
    ["no columns", JSON.stringify({ ...kept, recording: {} }), /model: .*, expected a whole recording/],
    ["a damaged column", changed("steps.start", () => ({ $array: "f64", data: "AAA=" })), /steps\.start/],
    ["a short column", changed("slices.seconds", shorter), /slices\.seconds: got \d+ values instead of \d+/],
    ["an op that is not there", changed("slices.op", column(Uint32Array, 1, 99)), /slices\.op: got 99/],
    ["a step that is not there", changed("slices.step", column(Uint32Array, 0, 4e9)), /slices\.step: got 4000000000/],
    ["a lane that is not there", changed("slices.lane", column(Uint8Array, 0, 7)), /slices\.lane: got 7/],
    ["nodes out of place", changed("slices.nodeStart", column(Uint32Array, 1, 1e6)), /slices\.nodeStart: got 1000000/],
    ["a time that is none", changed("slices.seconds", column(Float32Array, 3, NaN)), /slices\.seconds: got NaN/],
    ["a time below zero", changed("steps.seconds", column(Float32Array, 0, -1)), /steps\.seconds: got -1/],
    ["starts out of order", changed("slices.start", column(Float64Array, 0, 5)), /slices\.start: got .* after 5/],
    ["endless memory", changed("memory.resident", column(Float64Array, 0, Infinity)), /memory\.resident: got Infinity/],
    ["threads that are none", changed("threads", (of) => ({ ...(of as object), count: -1 })), /threads\.busy: got/],
    ["half a thread", changed("threads", (of) => ({ ...(of as object), count: 0.5 })), /threads\.busy: got/],
    ["an absurd date", changed("recordedAt", () => 1e300), /recordedAt: got 1e\+300/],
  ])("with %s is refused by name", (_, damaged, says) => {
    expect(() => readRecording("a.rlxtrace", damaged)).toThrow(says);
    expect(() => readRecording("a.rlxtrace", damaged)).toThrow(/^\[recording\] a\.rlxtrace: /);
  });
});
