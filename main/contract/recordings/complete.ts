/** What a recording says of itself, from its columns: the rows of both phases and the sentence. Made here only, also of a file's. */
import type { Figure } from "../views/common.ts";
import type { ProfileRow, ProfileView } from "../views/run.ts";
import { stepTruth, tokenSeconds, typicalTokens } from "./pieces.ts";
import type { Phase, Sum } from "./sums.ts";
import { opSums, phaseScope } from "./sums.ts";

/** What an engine records. */
export type Columns = Omit<ProfileView, "sentence" | "prefill" | "decode">;

export function completeProfile(columns: Columns): ProfileView {
  const phases = { prefill: phaseOf(columns, "prefill"), decode: phaseOf(columns, "decode") };
  const said = profileSentence({ ...columns, ...phases });
  return { ...columns, ...phases, sentence: [said, columns.note].filter((part) => part !== "").join(" ") };
}

function phaseOf(columns: Columns, phase: Phase): ProfileView["decode"] {
  const { steps, peakBandwidth } = columns;
  const rows = opSums(columns, phaseScope(columns, phase)).map((sum) => rowOf(sum, peakBandwidth?.value));
  const [own, basis] = basisOf(columns, phase);
  const tokens = own.reduce((sum, step) => sum + (steps.tokens[step] ?? 0), 0);
  const seconds = own.reduce((sum, step) => sum + (steps.seconds[step] ?? 0), 0);
  const whole = own.reduce((sum, step) => sum + tokenSeconds(columns, step), 0);
  const truth = stepTruth(columns);
  const figure = (value: number): Figure => ({
    value: tokens === 0 ? 0 : value / tokens,
    ...{ low: null, high: null, unit: "seconds", truth, basis },
  });
  return { seconds: figure(seconds), whole: figure(whole), rows };
}

function basisOf(columns: Columns, phase: Phase): readonly [readonly number[], string] {
  const { steps } = columns;
  const all = [...steps.decode.keys()].filter((step) => (steps.decode[step] === 1) === (phase === "decode"));
  const tokens = all.reduce((sum, step) => sum + (steps.tokens[step] ?? 0), 0);
  if (phase === "prefill") return [all, `a token, over ${tokens} tokens of the prompt`];
  const own = typicalTokens(columns);
  const which = own.length === 1 ? "the middle one" : `mean of the middle ${own.length}`;
  return [own, `a token, ${which} of ${all.length} written tokens by time`];
}

function rowOf({ kind, name, device, truth, count, seconds, share, bytes }: Sum, peak: number | undefined): ProfileRow {
  const reads = kind === "op" && bytes > 0 && peak !== undefined;
  const bandwidth = reads ? bytes / seconds : null;
  const peakShare = bandwidth === null || peak === undefined ? null : bandwidth / peak;
  return { kind, op: name, device, truth, count, seconds, share, bytes, bandwidth, peakShare };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Every share is of the whole token: the engine's step and the time until the next one. */
export function profileSentence({ decode, peakBandwidth }: Pick<ProfileView, "decode" | "peakBandwidth">): string {
  const { rows } = decode;
  const [largest] = rows;
  const op = rows.find(({ kind }) => kind === "op");
  if (largest === undefined) return "No token was written.";
  const first = `A typical token spends ${percent(largest.share)} of its time ${placeOf(largest)}${howOf(largest)}`;
  const second =
    op === undefined || op === largest
      ? ""
      : `, and ${percent(op.share)} in its largest operation, ${op.op}${howOf(op)}`;
  return [`${first}${second}.`, ...memorySentence(rows, decode.seconds.value, peakBandwidth?.value)].join(" ");
}

const howOf = ({ truth }: ProfileRow): string => (truth === "attributed" ? " by attribution" : "");

const placeOf = ({ kind, op }: ProfileRow): string =>
  kind === "op"
    ? `in ${op}`
    : kind === "between"
      ? "between steps, in JavaScript"
      : "in sampling and in starting and ending the step";

function memorySentence(rows: readonly ProfileRow[], step: number, peak: number | undefined): readonly string[] {
  if (peak === undefined || step <= 0) return [];
  const share = rows.reduce((sum, { bytes }) => sum + bytes, 0) / step / peak;
  return share > 1
    ? ["Its weights come from the processor\u2019s cache, faster than memory gives them."]
    : [`A step reads memory at ${percent(share)} of what this machine can.`];
}
