import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { contract } from "./contract.ts";
import { DEVICES, deviceCode, deviceOf } from "./views/common.ts";

/** Every schema as JSON Schema, inputs as they are written; typed arrays have no form there and count as anything. */
function fingerprint(): string {
  const text = (schema: z.ZodType, io: "input" | "output") => z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const all = {
    calls: Object.entries(contract.calls).map(([name, { input, output }]) => [
      name,
      text(input, "input"),
      text(output, "output"),
    ]),
    streams: Object.entries(contract.streams).map(([name, { input, item }]) => [
      name,
      text(input, "input"),
      text(item, "output"),
    ]),
    events: Object.entries(contract.events).map(([name, { payload }]) => [name, text(payload, "output")]),
  };
  return createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 16);
}

describe("the contract", () => {
  it("accepts what a first window sends, with defaults filled in", () => {
    expect(contract.calls["model.tensors"].input.parse({ model: "m1" })).toEqual({
      model: "m1",
      query: "",
      group: "none",
      held: null,
      against: null,
      sort: "file",
      descending: false,
      offset: 0,
      limit: 100,
    });
    const run = contract.streams["run.start"].input.parse({
      model: "m1",
      prompt: { kind: "completion", text: "Once" },
    });
    expect(run).toMatchObject({ device: "cpu", maxTokens: 512, sampling: { seed: null } });
  });

  it("refuses pages, paths and pieces beyond its limits", () => {
    expect(contract.calls["model.tensors"].input.safeParse({ model: "m1", limit: 1001 }).success).toBe(false);
    expect(contract.calls["model.open"].input.safeParse({ source: { kind: "path", path: "" } }).success).toBe(false);
    const chunk = { upload: "u", offset: 0, bytes: new Uint8Array((8 << 20) + 1) };
    expect(contract.calls["upload.chunk"].input.safeParse(chunk).success).toBe(false);
    expect(contract.calls["upload.chunk"].input.safeParse({ ...chunk, bytes: [1, 2] }).success).toBe(false);
  });

  it("has names of the form area.verb, none in two tables", () => {
    const names = [...Object.keys(contract.calls), ...Object.keys(contract.streams)];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+\.[a-zA-Z]+$/);
  });

  it("has a version of its own for these schemas: a change raises it, and both are recorded here", () => {
    expect([contract.version, fingerprint()]).toEqual([28, "c0b48bcc8d542817"]);
  });

  it("maps device codes both ways", () => {
    for (const name of DEVICES) expect(deviceOf(deviceCode(name))).toBe(name);
    expect(deviceOf(200)).toBe("none");
  });
});
