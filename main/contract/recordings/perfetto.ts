/**
 * Recordings for Perfetto and speedscope: Chrome's trace-event JSON, a process for each recording and a thread for each lane. Two
 * recordings become an archive with a manifest that sets the second so that the first written tokens begin together:
 * https://perfetto.dev/docs/reference/perfetto-manifest
 */
import type { ProfileView } from "../views/run.ts";
import { offsetBetween } from "./compare.ts";
import type { Piece } from "./pieces.ts";
import { hostPieces, slicePiece } from "./pieces.ts";
import { recordingTitle } from "./recordingFile.ts";
import type { Track } from "./tracks.ts";
import { busyOf, tracksOf } from "./tracks.ts";
import { zip } from "./zip.ts";

type TraceEvent = Readonly<Record<string, unknown>>;

/** What a trace of ours begins with. */
export const TRACE_START = '{"traceEvents":';

export function traceText(profile: ProfileView, pid = 1): string {
  return JSON.stringify({
    traceEvents: [...eventsOf(profile, pid)],
    displayTimeUnit: "ms",
    otherData: {
      recording: recordingTitle(profile),
      machine: profile.machine,
      recordedAt: new Date(profile.recordedAt).toISOString(),
      truth: profile.truth,
      sentence: profile.sentence,
    },
  });
}

function* eventsOf(profile: ProfileView, pid: number): Generator<TraceEvent> {
  const tracks = tracksOf(profile);
  yield { ph: "M", name: "process_name", pid, args: { name: recordingTitle(profile) } };
  yield { ph: "M", name: "process_sort_index", pid, args: { sort_index: pid } };
  for (const [tid, { title, kind }] of tracks.entries()) {
    if (kind === "memory") continue;
    yield { ph: "M", name: "thread_name", pid, tid, args: { name: title } };
    yield { ph: "M", name: "thread_sort_index", pid, tid, args: { sort_index: tid } };
  }
  const tidOf = (kind: Track["kind"], index = 0): number =>
    tracks.findIndex((track) => track.kind === kind && track.index === index);
  yield* stepEvents(profile, pid, tidOf("tokens"));
  for (const piece of hostPieces(profile)) yield pieceEvent(piece, pid, tidOf("host"), piece.seconds);
  for (let slice = 0; slice < profile.slices.start.length; slice++) {
    const piece = slicePiece(profile, slice);
    yield pieceEvent(piece, pid, tidOf("lane", piece.lane), piece.seconds);
    for (let thread = 0; thread < profile.threads.count; thread++) {
      const busy = busyOf(profile, { slice }, thread);
      if (busy > 0) yield pieceEvent(piece, pid, tidOf("thread", thread), busy);
    }
  }
  const { time, resident, states } = profile.memory;
  for (const [i, at] of time.entries())
    yield {
      ...{ ph: "C", name: "memory", pid, ts: at * 1e6 },
      args: { "engine process": resident[i] ?? 0, "caches and states": states[i] ?? 0 },
    };
}

function* stepEvents({ steps }: ProfileView, pid: number, tid: number): Generator<TraceEvent> {
  let token = 0;
  for (const [step, start] of steps.start.entries()) {
    const tokens = steps.tokens[step] ?? 0;
    const name = steps.decode[step] === 1 ? `token ${++token}` : `prompt, ${tokens} tokens`;
    yield { ph: "X", name, pid, tid, ts: start * 1e6, dur: (steps.seconds[step] ?? 0) * 1e6, args: { tokens } };
  }
}

const pieceEvent = (
  { kind, op, label, truth, step, start, bytes }: Piece,
  pid: number,
  tid: number,
  seconds: number,
): TraceEvent => ({
  ...{ ph: "X", name: op, cat: kind === "op" ? truth : kind, pid, tid, ts: start * 1e6, dur: seconds * 1e6 },
  args: { label, bytes, step, truth },
});

/** Of several recordings on one time line; the manifest is read first wherever it stands. */
export function traceArchive(profiles: readonly ProfileView[]): Uint8Array<ArrayBuffer> {
  return zip([
    { name: "perfetto_manifest.json", text: JSON.stringify({ perfetto_manifest: manifestOf(profiles) }, null, 2) },
    ...profiles.map((profile, i) => ({ name: traceName(i), text: traceText(profile, i + 1) })),
  ]);
}

const traceName = (index: number): string => `recording-${index + 1}.json`;

/** Of each recording, nanoseconds after the one whose first written token comes last: what begins before it would be dropped. */
export function manifestOf(profiles: readonly ProfileView[]): object {
  const [first] = profiles;
  const offsets = profiles.map((profile) => (first === undefined ? 0 : offsetBetween(first, profile, 0)));
  const base = offsets.indexOf(Math.min(...offsets));
  return {
    version: 1,
    files: profiles.map((_, i) => ({
      path: traceName(i),
      ...(i === base
        ? {}
        : {
            clocks: {
              sync_to: { file: traceName(base) },
              offset_ns: Math.round(((offsets[i] ?? 0) - (offsets[base] ?? 0)) * 1e9),
            },
          }),
    })),
    attributes: { "rlx.aligned_at": "the first written token" },
  };
}
