// How long packing rows takes against ggml, per type, on one thread, without and with an importance matrix: processor time, which
// other work disturbs least. Writes the table of docs/performance/quantising.md when every type was measured.
//   npx tsx bench/quantising.ts [--only q4_k,iq3_s] [--turns 5]
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadAddon } from "../main/node/native/addon.ts";
import type { PackedType } from "../main/quant/registry.ts";
import { median } from "../main/runtime/statistics.ts";
import { ggmlQuantizeSeconds, oracleMissing } from "../main/testing/oracle.ts";
import { randomFloats, seededRandom } from "../main/testing/random.ts";
import { writeTables } from "./support/tables.ts";

const { values: options } = parseArgs({
  options: { only: { type: "string" }, turns: { type: "string", default: "5" } },
});
const turns = Number(options.turns);

/** Rows so many that a turn takes some hundredths of a second: types with a closed form are quick. */
const QUICK = 1024;
const SLOW = 32;
const TYPES: readonly (readonly [PackedType, number])[] = [
  ...(["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "tq1_0", "tq2_0", "q1_0", "q2_0"] as const).map(
    (type) => [type, QUICK] as const,
  ),
  ["mxfp4", 256],
  ["nvfp4", 256],
  ...(
    [
      "q2_k",
      "q3_k",
      "q4_k",
      "q5_k",
      "q6_k",
      "iq1_s",
      "iq1_m",
      "iq2_xxs",
      "iq2_xs",
      "iq2_s",
      "iq3_xxs",
      "iq3_s",
      "iq4_nl",
      "iq4_xs",
    ] as const
  ).map((type) => [type, SLOW] as const),
];
/** ggml packs these with an importance only. */
const WEIGHTED: readonly PackedType[] = ["iq1_s", "iq2_xxs", "iq2_xs"];
const COLUMNS = 2048;
/** How much longer than ggml packing may take. */
const GOAL = 1.2;

interface Measured {
  /** Seconds for a million values. */
  readonly ours: number;
  readonly theirs: number;
  readonly ratio: number;
}

const missing = oracleMissing();
if (missing !== undefined) throw new Error(missing);
const engine = loadAddon();

async function measure(type: PackedType, rows: number, importance: Float32Array | null): Promise<Measured> {
  const values = randomFloats(seededRandom(1), rows * COLUMNS, 0.03);
  const source = { from: "f32", bytes: new Uint8Array(values.buffer), to: type, columns: COLUMNS, importance } as const;
  const shape = [rows, COLUMNS] as const;
  const ours: number[] = [];
  const theirs: number[] = [];
  const runOurs = async (): Promise<number> => {
    const before = process.cpuUsage();
    await engine.repack(source, 1);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  const runTheirs = async (): Promise<number> =>
    (await ggmlQuantizeSeconds(type, values, shape, importance, 1))[0] ?? NaN;
  // The first pair makes tables.
  await runOurs();
  await runTheirs();
  for (let turn = 0; turn < turns; turn++) {
    const first = turn % 2 === 1 ? await runTheirs() : undefined;
    ours.push(await runOurs());
    theirs.push(first ?? (await runTheirs()));
  }
  const million = 1e6 / values.length;
  const measured = {
    ours: median(ours) * million,
    theirs: median(theirs) * million,
    ratio: median(ours.map((seconds, i) => seconds / (theirs[i] ?? NaN))),
  };
  console.error(`${type}${importance === null ? "" : " with importance"}: ${JSON.stringify(measured)}`);
  return measured;
}

const only = options.only?.split(",");
const random = seededRandom(2);
const importance = Float32Array.from({ length: COLUMNS }, () => Math.exp(random.normal()));
const time = (seconds: number): string => `${(seconds * 1000).toPrecision(3)} ms`;
const ratio = (value: number): string => (value > GOAL ? `**${value.toFixed(2)}**` : value.toFixed(2));
const cells = (measured: Measured | undefined): readonly string[] =>
  measured === undefined ? ["", "", ""] : [time(measured.ours), time(measured.theirs), ratio(measured.ratio)];

const table: (readonly string[])[] = [
  ["type", "ours, a million values", "ggml", "ratio", "ours with an importance", "ggml", "ratio"],
];
for (const [type, rows] of TYPES) {
  if (only !== undefined && !only.includes(type)) continue;
  const plain = WEIGHTED.includes(type) ? undefined : await measure(type, rows, null);
  const weighted = await measure(type, rows, importance);
  table.push([type, ...cells(plain), ...cells(weighted)]);
}
if (only === undefined)
  writeTables(fileURLToPath(new URL("../docs/performance/quantising.md", import.meta.url)), [
    `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${engine.isa}, ${turns} turns.`,
    table,
  ]);
process.exit(0);
