/** Whether what a recording says in its sentence, its table and its lanes is the same; what is not, in words. */
import { typicalTokens, tokenSeconds } from "../contract/recordings/pieces.ts";
import { selectionSum, tracksOf } from "../contract/recordings/tracks.ts";
import type { ProfileView } from "../contract/views/run.ts";

/** Of a share: half a percent is what the sentence is rounded to. */
const ROUNDING = 0.0051;
/** Of seconds: columns hold them in single precision. */
const PRECISION = 1e-4;

/** Seconds of one typical token by what took them, as the lanes have them: each token is selected over all of them. */
function ofLanes(profile: ProfileView): ReadonlyMap<string, number> {
  const tokens = typicalTokens(profile);
  const found = new Map<string, number>();
  const last = tracksOf(profile).length - 1;
  for (const step of tokens) {
    const from = profile.steps.start[step]!;
    const selection = { from, to: from + tokenSeconds(profile, step), first: 0, last };
    for (const { name, device, seconds } of selectionSum(profile, selection).sums)
      found.set(`${device} ${name}`, (found.get(`${device} ${name}`) ?? 0) + seconds / tokens.length);
  }
  return found;
}

export function disagreements(profile: ProfileView): readonly string[] {
  const { rows, whole } = profile.decode;
  const lanes = ofLanes(profile);
  const faults: string[] = [];
  const same = (what: string, a: number, b: number, slack: number): void => {
    if (!(Math.abs(a - b) <= slack)) faults.push(`${what}: ${a} and ${b}`);
  };
  const table = rows.reduce((sum, row) => sum + row.seconds, 0);
  same("the table and the whole token", table, whole.value, PRECISION * whole.value);
  same(
    "the shares and all",
    rows.reduce((sum, row) => sum + row.share, 0),
    1,
    PRECISION,
  );
  if (lanes.size !== rows.length) faults.push(`lanes have ${lanes.size} parts, the table has ${rows.length}`);
  for (const { device, op, seconds, share } of rows) {
    same(`${op} in the table and the lanes`, seconds, lanes.get(`${device} ${op}`) ?? NaN, PRECISION * whole.value);
    same(`${op} by its share`, share, seconds / table, PRECISION);
  }
  const [largest] = rows;
  const op = rows.find(({ kind }) => kind === "op");
  const says =
    /spends (\d+) % of its time (.*?)(?: by attribution)?(?:, and (\d+) % in its largest operation, (.*?)(?: by attribution)?)?\.(?: |$)/.exec(
      profile.sentence,
    );
  if (says === null || largest === undefined || op === undefined)
    return [...faults, `no sentence: ${profile.sentence}`];
  const [, share, place, opShare, opName] = says;
  same("the sentence and the largest row", Number(share) / 100, largest.share, ROUNDING);
  const where = {
    op: `in ${largest.op}`,
    between: "between steps, in JavaScript",
    edges: "in sampling and in starting and ending the step",
  };
  if (place !== where[largest.kind]) faults.push(`the sentence says ${place}, the table ${largest.op}`);
  if (largest.kind !== "op") {
    same("the sentence and the largest op", Number(opShare) / 100, op.share, ROUNDING);
    if (opName !== op.op) faults.push(`the sentence says ${opName}, the table ${op.op}`);
  }
  return faults;
}
