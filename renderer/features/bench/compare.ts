/** Two results side by side: the tests that both have, and what else differs between them. */
import { subjectName, testName } from "../../../main/contract/benchText.ts";
import type { Ratio, Verdict } from "../../../main/contract/benchVerdict.ts";
import { compareTests } from "../../../main/contract/benchVerdict.ts";
import type { BenchResult, BenchSubject, BenchTest } from "../../../main/contract/views/bench.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName } from "./slice.ts";

export interface ComparedTest {
  readonly left: BenchTest;
  readonly right: BenchTest;
  /** null: the two are not comparable. */
  readonly ratio: Ratio | null;
  readonly sentence: string;
}

/** Why the two cannot be compared, or null: a ratio of numbers that something else disturbed says nothing. */
export function notComparable(left: BenchEntry, right: BenchEntry): string | null {
  const reasons = [left, right].flatMap((entry) =>
    entry.result.red.length === 0 ? [] : [`during ${benchName(entry)}: ${entry.result.red.join(", ")}`],
  );
  return reasons.length === 0 ? null : `Not comparable because of the conditions ${reasons.join("; ")}.`;
}

export function compareBench(left: BenchEntry, right: BenchEntry): readonly ComparedTest[] {
  const why = notComparable(left, right);
  return left.result.tests.flatMap((mine): readonly ComparedTest[] => {
    const other = right.result.tests.find((each) => isSameTest(left.result, mine, right.result, each));
    if (other === undefined || mine.samples.length === 0 || other.samples.length === 0) return [];
    const { ratio, sentence } = compareTests(
      { result: left.result, test: mine },
      { result: right.result, test: other },
    );
    return [{ left: mine, right: other, ratio, sentence: why ?? sentence }];
  });
}

/** The same tokens and depth; where results have several subjects, the same of those. */
function isSameTest(first: BenchResult, mine: BenchTest, second: BenchResult, other: BenchTest): boolean {
  if (testName(mine) !== testName(other)) return false;
  if (first.subjects.length === 1 && second.subjects.length === 1) return true;
  return subjectKey(first, mine) === subjectKey(second, other);
}

function subjectKey({ subjects }: BenchResult, { subject }: BenchTest): string {
  const found = subjects[subject];
  return found === undefined ? "" : `${found.title} ${found.device} ${found.threads}`;
}

/** Two tests of one result, which were measured in turn; the first of a table is the first of the two. */
export function compareInTurn(result: BenchResult, first: BenchTest, second: BenchTest): Verdict {
  return compareTests({ result, test: first }, { result, test: second });
}

/** "pp 512, 4 threads" */
export function rowNameOf(
  subjects: readonly BenchSubject[],
  test: Pick<BenchTest, "test" | "tokens" | "depth" | "subject">,
): string {
  const subject = subjects[test.subject];
  const isOne = subjects.length === 1 || subject === undefined;
  return `${testName(test)}${isOne ? "" : `, ${subjectName(subject, subjects)}`}`;
}

const testsOf = ({ tests }: BenchResult): string => {
  const names = [...new Set(tests.map(testName))];
  return names.length > 2 ? `${names.length} of them` : names.join(", ");
};

/** "1, 2, 4" */
const each = ({ subjects }: BenchResult, of: (subject: BenchSubject) => string | number): string =>
  [...new Set(subjects.map(of))].join(", ");

/** What else differs between the two: the reader decides whether it is the question or a mistake. */
export function benchDifferences(left: BenchEntry, right: BenchEntry): readonly string[] {
  const [a, b] = [left.result, right.result];
  const pairs: readonly (readonly [string, string, string])[] = [
    ["model", left.model, right.model],
    ["device", each(a, ({ device }) => device), each(b, ({ device }) => device)],
    ["threads", each(a, ({ threads }) => threads), each(b, ({ threads }) => threads)],
    ["kernels", each(a, ({ kernels }) => kernels), each(b, ({ kernels }) => kernels)],
    ["tests", testsOf(a), testsOf(b)],
    ["machine", a.machine, b.machine],
    ["system", a.system, b.system],
    ["version", a.version, b.version],
  ];
  return pairs.filter(([, one, other]) => one !== other).map(([name, one, other]) => `${name} ${one} → ${other}`);
}
