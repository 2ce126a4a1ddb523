// The ledger of compiles through the engine, over the Core ML double: what a load leaves behind, what is told before the next one, a
// model that ended its helper, an update of the system, and the search for the operation that the Neural Engine's compiler refuses.
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EngineClient, StreamItemOf } from "../../../contract/contract.ts";
import { noDouble } from "../../../testing/coremlDouble.ts";
import type { DoubleEngine } from "../../../testing/coremlEngine.ts";
import { engineOverDouble, madeHome, openOffer, playDouble as play } from "../../../testing/coremlEngine.ts";
import { writeTinyGguf } from "../../../testing/tinyGguf.ts";

const TARGET = { chip: "m3", os: "macos15", units: "all", profile: "exact", context: 64 } as const;

describe.skipIf(noDouble)(`compiles of Core ML ${noDouble ?? ""}`, () => {
  let double: DoubleEngine;
  let client: EngineClient;
  let model: string;
  beforeAll(async () => {
    const home = madeHome("compiles");
    double = engineOverDouble(home);
    ({ client } = double);
    // A small one: what is asked is the ledger, and each load writes, tries and runs it.
    const path = join(home, "tiny.gguf");
    await writeTinyGguf(path);
    ({ model } = await client.call("model.open", { source: { kind: "path", path } }));
  });
  afterAll(() => double.close());

  async function phases(context: number): Promise<StreamItemOf<"run.start">[]> {
    const items: StreamItemOf<"run.start">[] = [];
    const prompt = { kind: "completion", text: "Once" } as const;
    const sampling = { temperature: 0, seed: 1 };
    const input = { model, device: "coreml", prompt, maxTokens: 1, context, sampling } as const;
    for await (const item of client.stream("run.start", input)) items.push(item);
    return items;
  }
  const sentences = (items: readonly StreamItemOf<"run.start">[]): string[] => [
    ...new Set(items.flatMap((item) => (item.kind === "phase" ? [item.sentence] : []))),
  ];

  it("keeps a line for each function, and says how long the next load takes", { timeout: 60_000 }, async () => {
    play("load-ms=300");
    const told = sentences(await phases(64));
    expect(told).toContain("Writing the package");
    expect(told).toContain(
      "The system specialises the model for its units (prefill, 2 of 2). No earlier load of it on this Mac: no time is known",
    );
    const { system, rows, estimate, changed, sentence } = await client.call("compiles.list", { model });
    expect(system).toEqual({ chip: "Apple M3 Pro", os: "15.5.0", osBuild: "24F74", truth: "simulated" });
    expect(changed).toBeNull();
    expect(sentence).toContain("Core ML is simulated here: these are not the times of a Mac.");
    expect(
      rows
        .map((row) => [row.function, row.units, row.last.result, row.kept, row.unsafe])
        .sort((a, b) => String(a).localeCompare(String(b))),
    ).toEqual([
      ["decode", "all", "ok", true, null],
      ["prefill", "all", "ok", true, null],
    ]);
    const [row] = rows;
    expect(row?.last.stages.map(({ stage }) => stage)).toEqual(["compile", "load", "first prediction", "warm-up"]);
    expect(row?.last.seconds).toBeGreaterThan(0.3);
    expect(row?.last.packageBytes).toBeGreaterThan(1e5);
    expect((row?.last.plan?.ane ?? 0) + (row?.last.plan?.gpu ?? 0) + (row?.last.plan?.cpu ?? 0)).toBeCloseTo(1);
    expect(estimate).toMatchObject({ count: 1 });
    expect(estimate?.seconds?.typical).toBeGreaterThan(0.6);
    // Loaded again: nothing is tried, nothing is written.
    await phases(64);
    expect((await client.call("compiles.list", {})).rows.map((one) => one.loads)).toEqual([1, 1]);
  });

  it("asks before it loads what ended its helper, and loads it then", { timeout: 60_000 }, async () => {
    play("predict=kill");
    await expect(phases(48)).rejects.toMatchObject({ code: "COREML_CRASHED" });
    play("");
    const refused: unknown = await phases(48).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "COREML_UNSAFE", hint: expect.stringContaining("--try-unsafe") });
    const [row] = (await client.call("compiles.list", {})).rows;
    expect(row).toMatchObject({ last: { result: "killed", stage: "first prediction", code: "COREML_CRASHED" } });
    const verdict = row?.unsafe ?? "";
    expect((refused as { readonly details?: { readonly verdict?: string } }).details?.verdict).toBe(verdict);
    await client.call("compiles.allow", { verdict });
    expect((await phases(48)).at(-1)).toMatchObject({ kind: "done" });
    await expect(client.call("compiles.allow", { verdict })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  });

  it("says that the system changed, verifies again, and names what changed", { timeout: 120_000 }, async () => {
    for await (const item of client.stream("doctor.verify", {})) expect(item.kind).toMatch(/answer|done/u);
    play("os=15.6 os-build=24G84");
    const { changed } = await client.call("compiles.list", {});
    expect(changed?.sentence).toContain(
      "macOS 15.6.0 (24G84) runs here now; the last loads were on macOS 15.5.0 (24F74)",
    );
    expect(changed?.toVerify).toBe(4);
    // Said once, before the first load after the update.
    const said = sentences(await phases(64)).filter((one) => one.includes("runs here now"));
    expect(said).toHaveLength(1);
    play("os=15.6 os-build=24G84 load=fail");
    const items: StreamItemOf<"compiles.verify">[] = [];
    for await (const item of client.stream("compiles.verify", {})) items.push(item);
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("no end");
    expect(items.filter(({ kind }) => kind === "model")).toHaveLength(2);
    expect(done.before).toMatchObject({ os: "15.5.0", osBuild: "24F74" });
    expect(done.sentence).toMatch(
      /^2 programs loaded again under macOS 15\.6\.0 \(24G84\)\. \d+ things changed since macOS 15\.5\.0 \(24F74\)/u,
    );
    expect(done.changes).toContainEqual({
      what: expect.stringContaining("decode on all") as string,
      before: "loads",
      after: "fails in load",
      worse: true,
    });
    expect(done.changes).toContainEqual({ what: "Question shared-weights", before: "yes", after: "no", worse: true });
    expect((await client.call("compiles.list", {})).changed).toBeNull();
  });

  async function explained(
    input: { readonly model: string; readonly units?: "all" | "cpu-gpu" },
    signal?: AbortSignal,
  ): Promise<{ readonly done: Extract<StreamItemOf<"compiles.explain">, { kind: "done" }>; readonly tried: number }> {
    let tried = 0;
    const target = { ...TARGET, units: input.units ?? "all" };
    const options = signal === undefined ? {} : { signal };
    for await (const item of client.stream("compiles.explain", { model: input.model, target }, options)) {
      if (item.kind === "tried") tried++;
      if (item.kind === "done") return { done: item, tried };
    }
    throw new Error("no end");
  }

  it(
    "names the operation that the Neural Engine's compiler refuses, and what works instead",
    { timeout: 60_000 },
    async () => {
      play("refuse=softmax");
      const { done, tried } = await explained({ model });
      expect(done).toMatchObject({
        result: "fails",
        truth: "simulated",
        code: "COREML_LOAD",
        failure: { id: "ane-compile", number: -14 },
        culprits: [{ op: "attention_cached", title: "blk.0/attention/attention (attention_cached)" }],
      });
      expect(done.message).toMatch(/Failed to build the model execution plan .* with error code: -14\.$/u);
      expect(done.sentence).toMatch(
        /alone\. The Neural Engine’s compiler refused the program \(-14\)\. Found with \d+ compiles\.$/u,
      );
      expect(tried).toBeLessThan(30);
      expect(done.ways).toMatchObject([{ id: "units", works: true, target: { units: "cpu-gpu" } }]);
    },
  );

  it("finds operations that are refused together only, in a graph that is cut", { timeout: 120_000 }, async () => {
    const hybrid = await openOffer(client, "demo-hybrid");
    play("");
    expect((await explained({ model: hybrid })).done).toMatchObject({ result: "compiles", culprits: [] });
    play("refuse=gelu+add");
    const { done } = await explained({ model: hybrid });
    expect(done.culprits.map(({ op }) => op)).toEqual(["gelu", "add"]);
    expect((await explained({ model: hybrid, units: "cpu-gpu" })).done.result).toBe("compiles");
  });

  it("can be cancelled, and leaves nothing behind", { timeout: 60_000 }, async () => {
    play("load=hang");
    const stop = new AbortController();
    const running = explained({ model }, stop.signal);
    setTimeout(() => stop.abort(), 700);
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => readdirSync(tmpdir()).filter((name) => name.startsWith("rlx-piece-")).length).toBe(0);
  });
});
