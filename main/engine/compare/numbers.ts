/** Predicted numbers of two sides in one table, and measured ones by the rules of benchmarks: no verdict in noise. */
import type { View } from "../../contract/define.ts";
import { testName } from "../../contract/benchText.ts";
import { decisionBetween, verdictOf } from "../../contract/benchVerdict.ts";
import type { compareInput, Comparison, Measured, NumberRow, Side, SpeedRow } from "../../contract/views/compare.ts";
import type { Figure } from "../../contract/views/common.ts";
import type { VerdictRow } from "../../contract/views/cost.ts";
import type { Overview } from "../../contract/views/model.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { figure, grouped } from "../measure/forecast.ts";

/** What is known of a side in numbers; null where it cannot be predicted. */
export interface SideNumbers {
  readonly overview: Overview;
  readonly verdict: VerdictRow | null;
  readonly route: RouteView | null;
}

type Wish = "less" | "more" | "none";

/** Closer than this, neither is better. */
const LEAST_RATIO = 1.005;

function betterOf(a: Figure | null, b: Figure | null, wish: Wish): Side | null {
  if (a === null || b === null || wish === "none") return null;
  const [low, high] = a.value <= b.value ? [a.value, b.value] : [b.value, a.value];
  if (low === high || (low > 0 && high / low < LEAST_RATIO)) return null;
  const isSmaller: Side = a.value < b.value ? "a" : "b";
  if (wish === "less") return isSmaller;
  return isSmaller === "a" ? "b" : "a";
}

const exact = (value: number, unit: Figure["unit"], basis: string): Figure => figure(value, unit, "exact", basis);

export function numberRows(a: SideNumbers, b: SideNumbers): readonly NumberRow[] {
  const row = (label: string, wish: Wish, of: (side: SideNumbers) => Figure | null): readonly NumberRow[] => {
    const [mine, other] = [of(a), of(b)];
    return mine === null && other === null ? [] : [{ label, a: mine, b: other, better: betterOf(mine, other, wish) }];
  };
  const judged = ({ verdict }: SideNumbers): Extract<VerdictRow, { ok: true }> | null =>
    verdict?.ok === true ? verdict : null;
  const promptTokens = (judged(a) ?? judged(b))?.speed.promptTokens ?? 0;
  return [
    ...row(
      isGraphAlone(a.overview.kind) && isGraphAlone(b.overview.kind) ? "A run" : "A token",
      "less",
      (side) => judged(side)?.speed.token ?? null,
    ),
    ...row("Decode", "more", (side) => judged(side)?.speed.generate ?? null),
    ...row(`${grouped(promptTokens)} prompt tokens`, "less", (side) => judged(side)?.speed.prompt ?? null),
    ...row("Memory", "less", (side) => judged(side)?.fit?.total ?? null),
    ...row("File", "less", ({ overview: { file } }) =>
      file === null ? null : exact(file.bytes, "bytes", "its files"),
    ),
    ...row("Bits per weight", "none", ({ overview: { bitsPerWeight } }) =>
      bitsPerWeight === null ? null : exact(bitsPerWeight, "bits", "bytes of tensors over numbers in them"),
    ),
    ...row("Parameters", "none", ({ overview: { parameters } }) => exact(parameters, "count", "the tensor table")),
    ...row("Neural Engine", "none", (side) => {
      const share = judged(side)?.aneShare ?? null;
      return share === null ? null : figure(share, "share", "predicted", "of the predicted time of a step");
    }),
    ...row("Segments", "less", ({ route }) =>
      route === null ? null : exact(route.segments.length, "count", "counted in the predicted route"),
    ),
    ...row("Hops", "less", ({ route }) =>
      route === null ? null : exact(route.hops.length, "count", "counted in the predicted route"),
    ),
    ...row("Moved for a step", "less", ({ route }) => route?.bytesPerStep ?? null),
  ];
}

type Asked = NonNullable<View<typeof compareInput>["speed"]>;

/** The tests that both have: the same tokens at the same depth. */
export function speedOf({ a, b, together }: Asked): NonNullable<Comparison["speed"]> {
  const red = [...a.record.red, ...(together ? [] : b.record.red)];
  const rows = a.record.tests
    .filter(({ subject }) => subject === a.subject)
    .flatMap((mine): SpeedRow[] => {
      const other = b.record.tests.find((each) => each.subject === b.subject && testName(each) === testName(mine));
      if (other === undefined || mine.samples.length === 0 || other.samples.length === 0) return [];
      const decision = together ? decisionBetween(mine, other) : undefined;
      const verdict = verdictOf({ first: mine.samples, second: other.samples, paired: together, red, decision });
      const sentence = verdict.sentence.replace("The second is", "B is");
      return [
        { test: testName(mine), a: mine.rate, b: other.rate, kind: verdict.kind, ratio: verdict.ratio, sentence },
      ];
    });
  return { names: { a: a.name, b: b.name }, rows, differences: [...differencesOf(a, b)] };
}

/** What else differs between the two measurements: whether it is the question or a mistake, the reader decides. */
function differencesOf(a: Measured, b: Measured): readonly string[] {
  const of = ({ record, subject }: Measured): readonly (readonly [string, string])[] => {
    const own = record.subjects[subject];
    return [
      ["model", own?.title ?? ""],
      ["device", own?.device ?? ""],
      ["threads", String(own?.threads ?? "")],
      ["kernels", own?.kernels ?? ""],
      ["machine", record.machine],
      ["system", record.system],
      ["version", record.version],
    ];
  };
  const other = new Map(of(b));
  return of(a).flatMap(([name, value]) =>
    value === other.get(name) ? [] : [`${name} ${value} → ${other.get(name) ?? ""}`],
  );
}
