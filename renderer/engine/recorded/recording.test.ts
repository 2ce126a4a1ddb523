// A recording that is older than the contract is noticed: its number, its questions and its answers are checked.
import { describe, expect, it } from "vitest";
import type { AnyContract } from "../../../main/contract/define.ts";
import { contract } from "../../../main/contract/contract.ts";
import { answers, recordedContract } from "./replay.ts";

const { calls, streams }: AnyContract = contract;
const AGAIN = "the recording is stale: npm run record";

describe("the recorded answers", () => {
  it("are of this contract", () => {
    expect(recordedContract, AGAIN).toBe(contract.version);
  });

  it("fit its schemas, question by question", () => {
    expect(answers.length).toBeGreaterThan(300);
    for (const { method, input, answer } of answers) {
      const definition = calls[method] ?? streams[method];
      expect(definition?.input.safeParse(input).error, `${method}: ${AGAIN}`).toBeUndefined();
      if ("error" in answer || definition === undefined) continue;
      const items = definition.kind === "call" ? [answer.output] : (answer.output as unknown[]);
      const schema = definition.kind === "call" ? definition.output : definition.item;
      for (const item of items) expect(schema.safeParse(item).error, `${method}: ${AGAIN}`).toBeUndefined();
    }
  });

  it("hold every call and stream that the window makes", () => {
    const recorded = new Set(answers.map(({ method }) => method));
    const missing = [...Object.keys(calls), ...Object.keys(streams)].filter((method) => !recorded.has(method));
    // They change something, need a file from the page, an embedder or a file of an unknown
    // architecture, measure the machine for minutes, listen on a port, join two models or what other answers hold, or are the
    // command line's.
    expect(missing).toEqual([
      "compiles.allow",
      "cache.clear",
      "recents.add",
      "recents.remove",
      "preferences.set",
      "models.addFolder",
      "models.removeFolder",
      "models.look",
      "sessions.list",
      "sessions.load",
      "sessions.save",
      "sessions.read",
      "sessions.remove",
      "history.append",
      "history.list",
      "model.close",
      "model.metadataValue",
      "model.blocks",
      "header.begin",
      "header.feed",
      "model.locate",
      "model.find",
      "model.attach",
      "upload.begin",
      "upload.chunk",
      "upload.finish",
      "upload.cancel",
      "compare.graph",
      "report.make",
      "template.inspect",
      "prompt.save",
      "prompt.load",
      "convert.plan",
      "quantize.plan",
      "text.read",
      "text.format",
      "text.derive",
      "text.run",
      "text.bisect",
      "text.source",
      "text.save",
      "text.gallery",
      "ops.list",
      "ops.sample",
      "tokens.encode",
      "server.start",
      "server.stop",
      "train.pause",
      "train.resume",
      "train.stop",
      "train.run",
      "train.forget",
      "compare.run",
      "advice.measure",
      "devices.calibrate",
      "convert.run",
      "quantize.run",
      "quantize.importance",
      "score.run",
      "quality.run",
      "experts.run",
      "embed.run",
      "rerank.run",
      "train.start",
      "server.watch",
      "doctor.verify",
      "compiles.verify",
      "compiles.explain",
    ]);
  });
});
