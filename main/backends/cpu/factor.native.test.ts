// Factorisations of one large matrix, each of which would go on for a second or for minutes, are cancelled within it.
import { expect, test } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Value } from "../../ir/graph.ts";
import { tensor } from "../../ir/type.ts";
import { loadAddon } from "../../node/native/addon.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { allowedFor } from "../../testing/pace.ts";

const cpu = loadAddon();
const SIZE = 2000;
const AFTER_MS = 60;
/** From the wish to the answer. */
const MOST_MS = 500;

const filled = (value: (row: number, column: number) => number): Float32Array =>
  Float32Array.from({ length: SIZE * SIZE }, (_, i) => value(Math.floor(i / SIZE), i % SIZE));
/** Symmetric and positive definite: 4, and decays from the diagonal. */
const DEFINITE = filled((i, j) => (i === j ? 4 : 1 / (1 + Math.abs(i - j))));
/** Its singular vectors are completed one by one. */
const ZEROS = filled(() => 0);

type Routine = readonly [name: string, numbers: Float32Array, of: (g: OpBuilder, x: Value) => Value];
const ROUTINES: readonly Routine[] = [
  ["dense_solve", DEFINITE, (g, x) => g.dense_solve([x, x])],
  [
    "triangular_solve",
    DEFINITE,
    (g, x) => g.triangular_solve([x, x], { upper: false, transposed: false, unit: false }),
  ],
  ["cholesky", DEFINITE, (g, x) => g.cholesky([x])],
  ["qr", DEFINITE, (g, x) => g.qr([x])[0]!],
  ["svd", DEFINITE, (g, x) => g.svd([x])[1]!],
  ["svd of zeros", ZEROS, (g, x) => g.svd([x])[0]!],
  ["eigh", DEFINITE, (g, x) => g.eigh([x])[0]!],
  ["logdet", DEFINITE, (g, x) => g.logdet([x])[1]!],
];

test.each(ROUTINES)("%s", async (name, numbers, of) => {
  const b = new GraphBuilder(opTable, name);
  b.output("y", of(typedBuilder(b), b.input("x", tensor("f32", [SIZE, SIZE]))));
  const compiled = cpuDevice(cpu, { threads: 1 }).compile(b.finish());
  const session = compiled.open();
  const abort = new AbortController();
  const running = session.run({ inputs: { x: numbers }, fetch: ["y"] }, abort.signal);
  let asked = 0;
  setTimeout(() => {
    asked = performance.now();
    abort.abort();
  }, AFTER_MS);
  await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
  const spent = performance.now() - asked;
  const { ms, sentence } = await allowedFor(spent, MOST_MS);
  expect(spent, sentence).toBeLessThan(ms);
  session.dispose();
  compiled.dispose();
});
