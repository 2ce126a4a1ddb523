// A report as one page: valid, small, closed in itself, every text escaped, and silent about paths and words that nobody ticked.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../contract/views/cost.ts";
import type { ReportInput, ReportPage } from "../../contract/views/report.ts";
import { SAMPLE } from "../../testing/commandFolder.ts";
import { GALLERY } from "../../gallery/gallery.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { htmlProblems } from "../../testing/htmlProblems.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { html } from "./html.ts";

const SUBJECT: Subject = {
  backend: "coreml",
  target: { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 512 },
};
const EVIL = `<script>alert("1")</script> & 'quotes'`;

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());

const open = async (path: string): Promise<string> =>
  (await harness.client.call("model.open", { source: { kind: "path", path } })).model;
const made = (model: string, part: Partial<ReportInput> = {}): Promise<ReportPage> =>
  harness.client.call("report.make", { model, subject: SUBJECT, phase: "decode", ...part });

/** Anything that would load, run or send. */
const REACHES = /<script|<iframe|<link|<img|<form|<object|javascript:|\bon\w+="|\b(?:src|href)="|@import|url\((?!#)/iu;

describe("the page of a model", () => {
  it("is valid, below a megabyte, and needs nothing else", async () => {
    const page = await made(await open(SAMPLE));
    expect(htmlProblems(page.html)).toEqual([]);
    expect(page.html.length).toBeLessThan(1e6);
    expect(page.html).not.toMatch(REACHES);
    expect(page.html).toContain(
      `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;`,
    );
    for (const part of ["How fast", "What runs where", "What would make it faster", "Model", "header hash", "<svg"])
      expect(page.html).toContain(part);
    expect(page.html).toContain("prefers-color-scheme: dark");
    expect(page.name).toMatch(/^rlx-sample-q8.0-report\.html$/u);
    const verdict = await harness.client.call("verdict.get", {
      model: await open(SAMPLE),
      subject: SUBJECT,
      rows: "own",
    });
    expect(page.markdown).toContain(verdict.sentence);
    expect(page.markdown).toContain("| runs on |");
  });

  it("says of a prompt for how many tokens its time is, and leaves out of a graph what it has not", async () => {
    expect((await made(await open(SAMPLE))).html).toMatch(/~[\d.]+ \S+ for 1000 tokens/u);
    const path = join(harness.folder, "net.rlx");
    await writeFile(path, GALLERY.find(({ id }) => id === "cnn")?.text ?? "");
    const page = await made(await open(path));
    expect(page.markdown).toContain("| runs on | a run | Neural Engine | hops |");
    expect(page.html).not.toContain("<th>fits</th>");
    // It has no context, and its run is no step of an answer.
    expect(page.html).not.toMatch(/512 tokens|, decode|· decode/u);
  });

  it("says how fast single answers were, without their words", async () => {
    const rate = { value: 41.5, low: null, high: null, unit: "tokens/s", truth: "measured", basis: "" } as const;
    const page = await made(await open(SAMPLE), {
      answers: [
        { name: "Chat 3", what: "S on cpu", promptTokens: 7, promptRate: null, firstToken: null, generated: 12, rate },
      ],
    });
    expect(htmlProblems(page.html)).toEqual([]);
    for (const part of ["Measured while answering", "Chat 3", "41.5 t/s"]) expect(page.html).toContain(part);
    expect((await made(await open(SAMPLE))).html).not.toContain("Measured while answering");
  });

  it("escapes whatever a file, a person or a model wrote", async () => {
    const path = join(harness.folder, "evil.gguf");
    await writeTinyGguf(path, { architecture: EVIL });
    const page = await made(await open(path), {
      notes: EVIL,
      conversation: [{ role: EVIL, text: `${EVIL}\u0000\ud800` }],
      profile: { sentence: EVIL, what: EVIL, ops: [{ name: EVIL, seconds: 1, share: 0.5 }] },
    });
    expect(htmlProblems(page.html)).toEqual([]);
    expect(page.html).not.toMatch(REACHES);
    expect(page.html.split("&lt;script&gt;").length).toBeGreaterThan(6);
  });

  it("tells neither paths nor words that were not asked for", async () => {
    const model = await open(SAMPLE);
    const quiet = await made(model);
    const { file } = await harness.client.call("model.overview", { model });
    const path = file?.path ?? "nowhere";
    expect(quiet.html + quiet.markdown).not.toContain(path);
    expect(quiet.html).not.toContain("<h2>Conversation</h2>");
    expect(quiet.html).not.toContain("<h2>Notes</h2>");
    expect((await made(model, { paths: true })).html).toContain(path);
  });

  it("says why there is no verdict of a family that is not known", async () => {
    const path = join(harness.folder, "unknown.gguf");
    await writeTinyGguf(path, { architecture: "nobody" });
    const page = await made(await open(path));
    expect(htmlProblems(page.html)).toEqual([]);
    expect(page.html).not.toContain("<h2>How fast</h2>");
  });
});

describe("the page of two sides", () => {
  it("is valid and begins with the words", async () => {
    const model = await open(SAMPLE);
    const other: Subject = { ...SUBJECT, target: { ...SUBJECT.target, units: "all" } };
    const page = await made(model, {
      against: { a: { model, subject: SUBJECT }, b: { model, subject: other }, phase: "decode" },
    });
    expect(htmlProblems(page.html)).toEqual([]);
    expect(page.html).not.toMatch(REACHES);
    expect(page.html).toContain("B is predicted to take");
    expect(page.name).toMatch(/-diff\.html$/u);
    // Two ribbons, whose patterns have names of their own.
    expect(page.html.split("<svg").length).toBe(3);
    expect(page.markdown).toContain("- B is predicted to take");
  });
});

it("escapes what a template is given, and not what a template made", () => {
  expect(html`<b title="${`"&`}">${"<"}${html`<i>${">"}</i>`}${null}</b>`.text).toBe(
    `<b title="&quot;&amp;">&lt;<i>&gt;</i></b>`,
  );
});

it("finds what is wrong with a page", () => {
  const page = (body: string): string =>
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>t</title></head><body><h1>t</h1>${body}</body></html>\n`;
  expect(htmlProblems(page("<p>a &amp; b</p>"))).toEqual([]);
  for (const bad of ["<p>", "<p><table></table></p>", "a & b", "<b></i>", `<i id="x"></i><i id="x"></i>`, "a < b"])
    expect(htmlProblems(page(bad)), bad).not.toEqual([]);
});
