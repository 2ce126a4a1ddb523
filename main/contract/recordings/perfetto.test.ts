import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 as ofNode } from "node:zlib";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { madeRecording } from "../../testing/recordings.ts";
import { MANIFEST_NAME, manifestOf, TRACE_START, traceArchive, traceText } from "./perfetto.ts";
import { crc32, zip } from "./zip.ts";

interface Event {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args: Record<string, unknown>;
}
const eventsOf = (text: string): readonly Event[] => (JSON.parse(text) as { traceEvents: Event[] }).traceEvents;

const [a, b] = [madeRecording({ seed: 1, tokens: 3 }), madeRecording({ seed: 2, tokens: 3, attributed: true })];

describe("a trace", () => {
  it("has a process, a named thread for each lane, and each piece in its own", () => {
    const text = traceText([a]);
    expect(text.startsWith(TRACE_START)).toBe(true);
    const events = eventsOf(text);
    const names = events.filter(({ name }) => name === "thread_name").map(({ args }) => args["name"]);
    expect(names).toEqual(["Tokens", "JavaScript, host", "CPU, 2 threads", "CPU thread 1", "CPU thread 2"]);
    const count = a.slices.start.length;
    expect(events.filter(({ ph, tid }) => ph === "X" && tid === 2)).toHaveLength(count);
    expect(events.filter(({ ph, tid }) => ph === "X" && tid === 4)).toHaveLength(count);
    expect(events.filter(({ ph }) => ph === "C")).toHaveLength(a.memory.time.length);
    for (const { ph, ts, dur } of events) if (ph === "X") expect(ts! >= 0 && dur! >= 0).toBe(true);
  });

  it("says of each time whether it was attributed", () => {
    const truths = eventsOf(traceText([b])).flatMap(({ args }) => (args["truth"] === undefined ? [] : [args["truth"]]));
    expect(new Set(truths)).toEqual(new Set(["attributed", "measured"]));
  });

  it("of two is one, in two processes whose first tokens begin together", () => {
    const events = eventsOf(traceText([a, b]));
    const starts = events.filter(({ name, ph }) => name === "token 1" && ph === "X");
    expect(starts.map(({ pid }) => pid)).toEqual([1, 2]);
    expect(starts[1]!.ts).toBeCloseTo(starts[0]!.ts!, 3);
    expect(Math.min(...events.flatMap(({ ts }) => (ts === undefined ? [] : [ts])))).toBeGreaterThanOrEqual(0);
  });
});

// "Trace Event Format" (Google, 2016): the kinds that are written here, with what each has to have.
const finite = z.number();
const place = { name: z.string().min(1), pid: z.number().int(), cat: z.string().optional() };
const documented = z.strictObject({
  traceEvents: z.array(
    z.discriminatedUnion("ph", [
      z.strictObject({
        ...{ ...place, ph: z.literal("M"), tid: z.number().int().optional(), ts: finite.optional() },
        args: z.union([z.strictObject({ name: z.string() }), z.strictObject({ sort_index: z.number() })]),
      }),
      z.strictObject({
        ...{ ...place, ph: z.literal("X"), tid: z.number().int(), ts: finite.min(0), dur: finite.min(0) },
        args: z.record(z.string(), z.union([z.string(), finite, z.boolean()])).optional(),
      }),
      z.strictObject({ ...place, ph: z.literal("C"), ts: finite.min(0), args: z.record(z.string(), finite) }),
    ]),
  ),
  displayTimeUnit: z.enum(["ms", "ns"]).optional(),
  otherData: z.record(z.string(), z.unknown()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

it("is in the documented form, and the pieces of a thread lie beside or within each other", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const trace = documented.parse(
      JSON.parse(traceText([madeRecording({ seed, tokens: 3, attributed: seed % 2 === 0 })])),
    );
    const threads = new Map<string, { from: number; to: number }[]>();
    for (const event of trace.traceEvents) {
      if (event.ph !== "X") continue;
      const key = `${event.pid} ${event.tid}`;
      threads.set(key, [...(threads.get(key) ?? []), { from: event.ts, to: event.ts + event.dur }]);
    }
    expect(threads.size).toBeGreaterThan(2);
    for (const pieces of threads.values()) {
      const open: number[] = [];
      for (const { from, to } of pieces.sort((x, y) => x.from - y.from || y.to - x.to)) {
        // A thousandth of a microsecond: ends are sums.
        while (open.length > 0 && (open.at(-1) ?? 0) <= from + 1e-3) open.pop();
        expect(to).toBeLessThanOrEqual((open.at(-1) ?? Infinity) + 1e-3);
        open.push(to);
      }
    }
  }
});

describe("the manifest", () => {
  it.each([
    ["the first", a, b],
    ["the second", b, a],
  ])("pins the later file to the earlier one, whichever that is: %s", (_, one, other) => {
    const manifest = manifestOf([one, other]) as {
      version: number;
      files: { path: string; clocks?: { sync_to: { file: string }; offset_ns: number } }[];
    };
    expect(manifest.version).toBe(1);
    const [first, second] = manifest.files.map(({ path, clocks }, i) => {
      const token = [one, other][i]!.steps.start[1]! * 1e9 + (clocks?.offset_ns ?? 0);
      return { path, clocks, token };
    });
    expect(first!.token).toBeCloseTo(second!.token, -1);
    const pinned = [first!, second!].filter(({ clocks }) => clocks !== undefined);
    expect(pinned).toHaveLength(1);
    expect(pinned[0]!.clocks!.offset_ns).toBeGreaterThan(0);
    expect(Number.isInteger(pinned[0]!.clocks!.offset_ns)).toBe(true);
    expect([first!.path, second!.path]).toContain(pinned[0]!.clocks!.sync_to.file);
    expect(pinned[0]!.path).not.toBe(pinned[0]!.clocks!.sync_to.file);
  });
});

describe("the archive", () => {
  const unzip = (bytes: Uint8Array): Record<string, string> => {
    const folder = mkdtempSync(join(tmpdir(), "rlx-zip-"));
    try {
      writeFileSync(join(folder, "a.zip"), bytes);
      const read =
        "import json,sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(json.dumps({n: z.read(n).decode() for n in z.namelist()}))";
      return JSON.parse(
        execFileSync("python3", ["-c", read, join(folder, "a.zip")], { encoding: "utf8", maxBuffer: 1e8 }),
      ) as Record<string, string>;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it("is one that others open: the manifest, then a trace for each", () => {
    const files = unzip(traceArchive([a, b]));
    expect(Object.keys(files)).toEqual([MANIFEST_NAME, "recording-1.json", "recording-2.json"]);
    expect(files[MANIFEST_NAME]!.replace(/\s/g, "").startsWith('{"perfetto_manifest"')).toBe(true);
    expect(eventsOf(files["recording-2.json"]!)).toEqual(eventsOf(traceText([b])));
  });

  it("keeps names and texts beyond ASCII, and an empty one", () => {
    expect(
      unzip(
        zip([
          { name: "größe.txt", text: "µs ∑" },
          { name: "b", text: "" },
        ]),
      ),
    ).toEqual({ "größe.txt": "µs ∑", b: "" });
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7) & 255);
    expect(crc32(bytes)).toBe(ofNode(bytes));
  });
});
