// Over the recorded answers of the real engine: the sample model, for the target that it opens with.
import { describe, expect, it } from "vitest";
import { answerTo } from "../../engine/recorded/replay.ts";
import { sampleId, sampleTarget } from "../../testing/sample.ts";
import type { PrefillQuestions } from "./prefillVerdict.ts";
import { chunkRows, inPrefill } from "./prefillVerdict.ts";

const subject = { backend: "coreml", target: sampleTarget } as const;
const decode = answerTo("verdict.get", { model: sampleId, subject, rows: "own" });
const of = { model: sampleId, phase: "prefill" } as const;
const chunk = answerTo("cost.get", { ...of, subject });
const route = answerTo("route.get", { ...of, ...subject });
const questions: PrefillQuestions = {
  costOf: () => Promise.resolve(chunk),
  routeOf: () => Promise.resolve(route),
};

describe("the verdict in prefill", () => {
  it("has the line, the shares and the hops of a chunk, and the speeds of the model", async () => {
    const { verdict, chunk: told } = await inPrefill({ ...decode, rows: [decode.own] }, questions);
    expect(told).toBe(chunk);
    expect(verdict.sentence).toBe(chunk.sentence);
    const ane = route.devices.find(({ device }) => device === "ane")?.workShare;
    expect(verdict.own).toMatchObject({ ok: true, aneShare: ane, gpuShare: null, hops: route.hops.length });
    expect(verdict.rows).toEqual([verdict.own]);
    // The two phases are not alike here, so that one cannot pass for the other.
    expect(decode.own).not.toMatchObject({ aneShare: ane });
    expect(verdict.own.ok && verdict.own.speed).toEqual(decode.own.ok && decode.own.speed);
  });

  it("is that of the one run of a graph without tokens", async () => {
    if (!decode.own.ok) throw new Error("the sample has a prediction");
    const run = { ...decode, own: { ...decode.own, speed: { ...decode.own.speed, prompt: null } } };
    expect(await inPrefill(run, questions)).toEqual({ verdict: run, chunk: null });
  });

  it("says in its row what could not be predicted, and never shows decode's in its place", async () => {
    const refused = { ...questions, routeOf: () => Promise.reject(new Error("no route")) };
    const { verdict, chunk: told } = await inPrefill({ ...decode, rows: [decode.own] }, refused);
    const sentence = "Its prefill could not be predicted: no route";
    expect([told, verdict.sentence]).toEqual([null, sentence]);
    expect(verdict.rows).toEqual([{ ok: false, subject, title: decode.own.title, sentence }]);
  });

  it("has parts that add up to the step of a chunk", () => {
    const sum = chunkRows(chunk).reduce((all, { value }) => all + value.value, 0);
    expect(sum).toBeCloseTo(chunk.step.value, 12);
  });
});
