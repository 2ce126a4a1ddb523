// Graphs as text: the gallery on every device, arrays as inputs, and a text that is open like a model.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GalleryEntry, TextRun } from "../../contract/views/text.ts";
import { hashText } from "../../ir/hash.ts";
import { formatText } from "../../ir/text/format.ts";
import { GALLERY } from "../../gallery/gallery.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { npyBytes } from "../../node/cli/npyFile.ts";
import { readNpy } from "../../training/data/npy.ts";

let engine: Harness;
beforeAll(async () => {
  engine = await engineHarness();
});
afterAll(async () => {
  await engine.done();
});

const graphOf = (id: string): GalleryEntry => GALLERY.find((each) => each.id === id)!;

/** Most that a device may be from the reference: floats, and halves of a package. */
const ALLOWED = { cpu: 1e-5, mlx: 1e-5, "coreml-sim": 5e-3 } as const;

test.each(GALLERY)("$id is in its layout, and runs on each device as the reference says", async ({ text }) => {
  expect(formatText(text)).toEqual({ text });
  for (const [device, most] of Object.entries(ALLOWED)) {
    const run = await engine.client.call("text.run", { text, device });
    expect(run.outputs.length).toBeGreaterThan(0);
    for (const { name, error, odd } of run.outputs) {
      expect({ device, name, near: Number(error) <= most, odd }).toEqual({ device, name, near: true, odd: 0 });
      expect(error).toBeGreaterThan(0);
    }
  }
});

/** [x²] with a carried sum: what is told of a run beside its values. */
const SUM = `graph "sum" {
  %x = input : f32[3]
  %before = state "sum" {initial: "constant", value: 10, rewind: "none"} : f32[3]
  %s = mul(%x, %x)
  %sum = add(%before, %s)
  next "sum" = %sum
  return "sum" = %sum
}
`;

const outputOf = ({ outputs: [output] }: TextRun): TextRun["outputs"][number] => output!;

test.each(["cpu", "coreml-sim"])(
  "on %s a run begins with the states as they are at first, however often",
  async (device) => {
    const inputs = { x: { numbers: [1, 2, 3] } };
    const run = await engine.client.call("text.run", { text: SUM, device, inputs, repeats: 3, values: 2 });
    expect(run.times).toHaveLength(3);
    expect(run.symbols).toEqual({});
    const { values, ...told } = outputOf(run);
    expect(told).toMatchObject({ count: 3, least: 11, most: 19, odd: 0, error: 0 });
    expect(told.mean).toBeCloseTo((11 + 14 + 19) / 3, 3);
    expect([...values]).toEqual([11, 14]);
  },
);

test("arrays come from files here, or are sent; a name that is not there is told", async () => {
  const bytes = npyBytes("f32", [3], Float64Array.from([2, 5, 0]));
  const path = join(engine.folder, "x.npy");
  await writeFile(path, bytes);
  for (const x of [{ path }, { name: "x.npy", bytes }]) {
    const run = await engine.client.call("text.run", { text: SUM, inputs: { x } });
    expect([...outputOf(run).values]).toEqual([14, 35, 10]);
  }
  const symbolic = SUM.replaceAll("f32[3]", "f32[N]").replace(/ \{initial[^}]*\}/u, ' {rewind: "none"}');
  const run = await engine.client.call("text.run", { text: symbolic, inputs: { x: { numbers: [3, 4] } } });
  expect(run.symbols).toEqual({ N: 2 });
  expect([...outputOf(run).values]).toEqual([9, 16]);
  const wrong = engine.client.call("text.run", { text: SUM, inputs: { y: { numbers: [1] } } });
  await expect(wrong).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
});

/** Columns in front, and the last of them left out. */
const TURNED = `graph "turned" {
  %z = input : c64[R,3]
  %t = transpose(%z) {perm: [1, 0]}
  %y = slice(%t) {axis: 0, start: 0, length: 2, step: 1}
  return "y" = %y
}
`;

test.each(["cpu", "mlx"])("on %s complex arrays are read as they are written, and move as numbers", async (device) => {
  const values = Float64Array.from({ length: 12 }, (_, i) => i);
  const run = (text: string, bytes: Uint8Array) =>
    engine.client.call("text.run", { text, device, inputs: { z: { name: "z.npy", bytes } } });
  const bytes = npyBytes("c64", [2, 3], values);
  const turned = outputOf(await run(TURNED, bytes));
  expect(turned).toMatchObject({ dtype: "c64", shape: [2, 2], error: 0 });
  expect([...turned.values]).toEqual([0, 1, 6, 7, 2, 3, 8, 9]);
  const back = npyBytes(turned.dtype, turned.shape, turned.values);
  const again = outputOf(await run(TURNED.replace("[R,3]", "[R,2]"), back));
  expect([...again.values]).toEqual([0, 1, 2, 3, 6, 7, 8, 9]);
  const real = run(TURNED.replace("c64", "f32"), bytes);
  await expect(real).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: "[run] z: got complex numbers, expected real ones",
  });
});

test.each(["cpu", "mlx", "coreml-sim"])("on %s the ends of i64 are written as they are", async (device) => {
  const text = 'graph "g" {\n %x = input : f32[3]\n %y = cast(%x) {to: "i64"}\n return "y" = %y\n}\n';
  const run = await engine.client.call("text.run", { text, device, inputs: { x: { numbers: [1e20, -1e20, 300.7] } } });
  const { dtype, shape, values } = outputOf(run);
  const bytes = Buffer.from(npyBytes(dtype, shape, values));
  const written = [0, 1, 2].map((i) => bytes.readBigInt64LE(bytes.length - 24 + 8 * i));
  expect(written).toEqual([2n ** 63n - 1n, -(2n ** 63n), 300n]);
});

test("halves are written as NumPy's halves, and bf16, which it has not, as f32", () => {
  const values = Float64Array.of(1, -(2 ** -24), 65504, NaN, -Infinity, -0);
  for (const [dtype, descr, bytes] of [
    ["f16", "<f2", 2],
    ["bf16", "<f4", 4],
  ] as const) {
    const file = npyBytes(dtype, [2, 3], values);
    expect(Buffer.from(file).toString("latin1")).toContain(`{'descr': '${descr}', 'fortran_order': False`);
    expect((file.length % 64) / values.length).toBe(bytes);
    expect([...readNpy("y.npy", file).data]).toEqual([...values]);
  }
});

test("an infinite distance from the reference is a word, which JSON has", async () => {
  // f32 has no 1e40, which the float64 reference has.
  const text = 'graph "g" {\n %x = input : f32[1]\n %y = mul(%x, %x)\n return "y" = %y\n}\n';
  const run = await engine.client.call("text.run", { text, inputs: { x: { numbers: [1e20] } } });
  expect(outputOf(run)).toMatchObject({ error: "Infinity", odd: 1 });
});

test("numbers that a type does not hold, and values larger than a machine, are refused", async () => {
  const whole = 'graph "g" {\n %x = input : i64[N]\n %y = add(%x, %x)\n return "y" = %y\n}\n';
  const bytes = npyBytes("f32", [2], Float64Array.from([1, NaN]));
  const cut = engine.client.call("text.run", { text: whole, inputs: { x: { name: "x.npy", bytes } } });
  await expect(cut).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: expect.stringMatching(/\[run\] x: got NaN, expected .* i64/u),
  });
  // 2^53 + 1 comes as 2^53: what was written cannot be known.
  const rounded = engine.client.call("text.run", { text: whole, inputs: { x: { numbers: [1, 2 ** 53] } } });
  await expect(rounded).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: "[run] x: i64 numbers are held exactly up to 2^53: got 9007199254740992, or one that is rounded to it",
  });
  const large = 'graph "g" {\n %x = input : f32[1]\n %y = expand(%x) {shape: ["N*N"]}\n return "y" = %y\n}\n';
  const run = (N: number) => engine.client.call("text.run", { text: large, symbols: { N, other: 3 } });
  await expect(run(100_000)).rejects.toMatchObject({ code: "INPUT_LIMIT" });
  // A symbol that no input has is taken, one that the graph does not have is not told of.
  expect(await run(3)).toMatchObject({ symbols: { N: 3 }, outputs: [{ count: 9 }] });
});

/** A branch that widens its operand to `size` numbers. */
const branch = (size: string) => `graph "g" {
  %c = input : bool[]
  %x = input : f32[1]
  %y = if(%c, %x) graph "then" {
    %a = input : f32[1]
    %b = expand(%a) {shape: ["${size}"]}
    %s = reduce(%b) {kind: "sum", axes: [0], keepDims: true}
    return "y" = %s
  } graph "else" {
    %a = input : f32[1]
    return "y" = %a
  }
  return "y" = %y
}
`;
/** At most T turns, which nothing but an attribute says; each makes `size` numbers of one. */
const loop = (size: string) => `graph "g" {
  %x = input : f32[1]
  %y = while(%x) {carried: 1, maxIterations: "T"} graph "condition" {
    %a = input : f32[1]
    %t = constant 1 : bool[]
    return "go" = %t
  } graph "body" {
    %a = input : f32[1]
    %b = expand(%a) {shape: ["${size}"]}
    %s = reduce(%b) {kind: "sum", axes: [0], keepDims: true}
    return "y" = %s
  }
  return "y" = %y
}
`;
/** Each turn of a scan makes `size` numbers of its row. */
const scan = (size: string) => `graph "g" {
  %x = input : f32[1]
  %rows = input : f32[2]
  %y = scan(%x, %rows) {carried: 1, scanned: 1, length: 2, reverse: false} graph "body" {
    %a = input : f32[1]
    %row = input : f32[]
    %b = expand(%a) {shape: ["${size}"]}
    %s = reduce(%b) {kind: "sum", axes: [0], keepDims: true}
    return "y" = %s
  }
  return "y" = %y
}
`;

test.each([
  ["a branch", branch, { c: { numbers: [1] } }, 3],
  ["a loop", loop, {}, 9],
  ["a scan", scan, {}, 9],
] as const)(
  "the largest value is also that in %s, and its symbols are given as those outside",
  async (_, of, given, sum) => {
    const inputs = { x: { numbers: [1] }, ...given };
    const run = (size: string) =>
      engine.client.call("text.run", { text: of(size), inputs, symbols: { M: 3, T: 2, N: 1 << 14 } });
    await expect(run("2*N*N")).rejects.toMatchObject({
      code: "INPUT_LIMIT",
      message: expect.stringContaining("expand: got 536870912 numbers"),
    });
    expect([...outputOf(await run("M")).values]).toEqual([sum]);
  },
);

test("the steps of a run are told with their times", async () => {
  const run = await engine.client.call("text.run", { text: graphOf("cnn").text, profile: true });
  expect(run.steps?.map(({ op }) => op)).toContain("conv");
  expect(run.steps?.every(({ seconds }) => seconds >= 0)).toBe(true);
});

test("a file of a text is opened like a model: overview, route, passes, export; one with a fault says where it is", async () => {
  const path = join(engine.folder, "filter.rlx");
  const { text } = graphOf("fft-filter");
  await writeFile(path, text);
  const overview = await engine.client.call("model.open", { source: { kind: "path", path } });
  expect(overview).toMatchObject({ kind: "text", title: "fft filter", variant: "filter.rlx", canGraph: { ok: true } });
  const { model, target } = overview;
  const file = { path, hash: hashText(text) };
  expect(await engine.client.call("text.source", { model })).toEqual({ name: "filter.rlx", file, text });
  const route = await engine.client.call("route.get", { model, backend: "coreml", target, phase: "decode" });
  expect(route.devices.map(({ device }) => device)).toContain("host");
  const plan = await engine.client.call("export.plan", { model, target });
  expect(plan.suggestedPath).toBe(join(engine.folder, "filter.mlpackage"));
  expect(plan.functions).toHaveLength(3);

  const faulty = { kind: "text", name: "faulty.rlx", text: text.replace("fft(%z)", "ftt(%z)") } as const;
  const broken = await engine.client.call("model.open", { source: faulty });
  expect(broken.canGraph).toMatchObject({ ok: false });
  expect(broken.sentence).toMatch(/^Line 7: \[ftt\] no such op/);
  const asked = { model: broken.model, backend: "coreml", target, phase: "decode" } as const;
  await expect(engine.client.call("route.get", asked)).rejects.toMatchObject({ code: "IR_STRUCTURE" });
});

test("an edited text keeps its file, and is saved there whole, but not over what another program wrote", async () => {
  const { client, folder } = engine;
  const path = join(folder, "edited.rlx");
  const { text: first } = graphOf("fft-filter");
  const edited = `${first}// edited\n`;
  await writeFile(path, first);
  const file = { path, hash: hashText(first) };
  const source = { kind: "text", name: "edited.rlx", text: edited, file } as const;
  const { model, target } = await client.call("model.open", { source });
  expect(await client.call("text.source", { model })).toEqual({ name: "edited.rlx", file, text: edited });
  expect((await client.call("export.plan", { model, target })).suggestedPath).toBe(join(folder, "edited.mlpackage"));

  const asked = { path, text: edited, was: file.hash };
  expect(await client.call("text.save", asked)).toEqual({ path, hash: hashText(edited) });
  expect(await readFile(path, "utf8")).toBe(edited);
  // It says something else than what was read.
  await expect(client.call("text.save", asked)).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    details: { exists: true },
  });
  await client.call("text.save", { ...asked, text: first, overwrite: true });
  expect(await readFile(path, "utf8")).toBe(first);
  expect((await readdir(folder)).filter((name) => name.includes(".part"))).toEqual([]);
  // Nothing but texts, and in folders that are there.
  for (const wrong of [join(folder, "edited.gguf"), join(folder, "none", "a.rlx")])
    await expect(client.call("text.save", { path: wrong, text: first, was: null })).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
    });
});

test("a long text is read in slices: others are answered meanwhile, and a newer text ends it", async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `  %v${i + 1} = neg(%v${i})`);
  const text = `graph "long" {\n  %v0 = input : f32[2]\n${lines.join("\n")}\n  return "y" = %v20000\n}\n`;
  const { client } = engine;
  const done: string[] = [];
  const reading = client.call("text.read", { text }).then(({ graph }) => done.push(`read ${graph?.operations}`));
  await client.call("text.gallery", {}).then(() => done.push("asked"));
  await reading;
  expect(done).toEqual(["asked", "read 20000"]);
  const newer = new AbortController();
  const left = client.call("text.read", { text }, { signal: newer.signal });
  newer.abort();
  await expect(left).rejects.toMatchObject({ code: "CANCELLED" });
});

test("symbols of a text are as large as their limit, or the context", async () => {
  const square = `graph "square" {\n  %x = input : f32[N]\n  %s = mul(%x, %x)\n  return "s" = %s\n}\n`;
  const text = square.replace("%s = mul", "limit N = 96\n  %s = mul");
  for (const [asked, size] of [
    [text, 96],
    [square, 512],
  ] as const) {
    const { model, target } = await engine.client.call("model.open", {
      source: { kind: "text", name: "square.rlx", text: asked },
    });
    const key = { model, backend: "coreml", target: { ...target, context: 512 }, phase: "decode" } as const;
    const route = await engine.client.call("route.get", key);
    expect(route.segments[0]?.bytesIn).toBe(size * 4);
  }
});
