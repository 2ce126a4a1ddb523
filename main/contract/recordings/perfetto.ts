/**
 * Recordings for Perfetto and speedscope: Chrome's trace-event JSON, a process for each recording and a thread for each lane. Several
 * fit into one file, or into an archive of a file for each with a manifest: perfetto.dev/docs/reference/perfetto-manifest
 */
import type { ProfileView } from "../views/run.ts";
import { offsetBetween } from "./compare.ts";
import type { Piece } from "./pieces.ts";
import { hostPieces, slicePiece, stepTitle } from "./pieces.ts";
import { recordingTitle } from "./recordingFile.ts";
import type { Track } from "./tracks.ts";
import { busyOf, tracksOf } from "./tracks.ts";
import { zip } from "./zip.ts";

type TraceEvent = Readonly<Record<string, unknown>>;

/** What a trace of ours begins with. */
export const TRACE_START = '{"traceEvents":';

/** All on one time line: the first written tokens begin together. */
export function traceText(profiles: readonly ProfileView[]): string {
  const offsets = offsetsOf(profiles);
  return JSON.stringify({
    traceEvents: profiles.flatMap((profile, i) => [...eventsOf(profile, i + 1, offsets[i] ?? 0)]),
    displayTimeUnit: "ms",
    otherData: {
      recordings: profiles.map((profile) => ({
        title: recordingTitle(profile),
        machine: profile.machine,
        recordedAt: new Date(profile.recordedAt).toISOString(),
        truth: profile.truth,
        sentence: profile.sentence,
      })),
    },
  });
}

/** Seconds after the start of the one whose first written token comes last: no event lies before zero. */
function offsetsOf(profiles: readonly ProfileView[]): readonly number[] {
  const [first] = profiles;
  if (first === undefined) return [];
  const offsets = profiles.map((profile) => offsetBetween(first, profile, 0));
  const least = Math.min(...offsets);
  return offsets.map((offset) => offset - least);
}

function* eventsOf(profile: ProfileView, pid: number, offset: number): Generator<TraceEvent> {
  const tracks = tracksOf(profile);
  const at = (seconds: number): number => (seconds + offset) * 1e6;
  yield { ph: "M", name: "process_name", pid, args: { name: recordingTitle(profile) } };
  yield { ph: "M", name: "process_sort_index", pid, args: { sort_index: pid } };
  for (const [tid, { title, kind }] of tracks.entries()) {
    if (kind === "memory") continue;
    yield { ph: "M", name: "thread_name", pid, tid, args: { name: title } };
    yield { ph: "M", name: "thread_sort_index", pid, tid, args: { sort_index: tid } };
  }
  const tidOf = (kind: Track["kind"], index = 0): number =>
    tracks.findIndex((track) => track.kind === kind && track.index === index);
  const { steps, slices, threads, memory } = profile;
  for (const [step, start] of steps.start.entries()) {
    const [tokens, dur] = [steps.tokens[step] ?? 0, (steps.seconds[step] ?? 0) * 1e6];
    yield { ph: "X", name: stepTitle(profile, step), pid, tid: tidOf("tokens"), ts: at(start), dur, args: { tokens } };
  }
  const event = (piece: Piece, tid: number, seconds = piece.seconds): TraceEvent => {
    const { kind, op, label, truth, step, bytes } = piece;
    const time = { ts: at(piece.start), dur: seconds * 1e6 };
    return {
      ph: "X",
      name: op,
      cat: kind === "op" ? truth : kind,
      pid,
      tid,
      ...time,
      args: { label, bytes, step, truth },
    };
  };
  for (const piece of hostPieces(profile)) yield event(piece, tidOf("host"));
  for (let slice = 0; slice < slices.start.length; slice++) {
    const piece = slicePiece(profile, slice);
    yield event(piece, tidOf("lane", piece.lane));
    for (let thread = 0; thread < threads.count; thread++) {
      const busy = busyOf(profile, { slice }, thread);
      if (busy > 0) yield event(piece, tidOf("thread", thread), busy);
    }
  }
  for (const [i, time] of memory.time.entries()) {
    const args = { "engine process": memory.resident[i] ?? 0, "caches and states": memory.states[i] ?? 0 };
    yield { ph: "C", name: "memory", pid, ts: at(time), args };
  }
}

export const MANIFEST_NAME = "perfetto_manifest.json";

/** A file for each, whose times are its own, and the manifest that sets them beside each other; it is read first. */
export function traceArchive(profiles: readonly ProfileView[]): Uint8Array<ArrayBuffer> {
  return zip([
    { name: MANIFEST_NAME, text: JSON.stringify({ perfetto_manifest: manifestOf(profiles) }, null, 2) },
    ...profiles.map((profile, i) => ({ name: traceName(i), text: traceText([profile]) })),
  ]);
}

const traceName = (index: number): string => `recording-${index + 1}.json`;

/** A file without a clock of its own is pinned to another one, which has to be the earliest. */
export function manifestOf(profiles: readonly ProfileView[]): object {
  const offsets = offsetsOf(profiles);
  const base = offsets.indexOf(0);
  return {
    version: 1,
    files: offsets.map((offset, i) => ({
      path: traceName(i),
      ...(i === base ? {} : { clocks: { sync_to: { file: traceName(base) }, offset_ns: Math.round(offset * 1e9) } }),
    })),
    attributes: { "rlx.aligned_at": "the first written token" },
  };
}
