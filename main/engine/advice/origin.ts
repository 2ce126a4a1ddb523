/**
 * Where the predicted gain of a changed target comes from, and whether the change is worth it at all: an advice that a plain switch
 * of compute units beats, on devices that the advice needs anyway, is none. What mends the part that the verdict names is listed
 * beside that switch.
 */
import { UNITS } from "../../backends/coreml/plan/target.ts";
import type { Seconds } from "../../compiler/cost/seconds.ts";
import { sumOf } from "../../compiler/cost/seconds.ts";
import type { CostDevice, StepCost } from "../../compiler/cost/stepCost.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { UNIT_NAMES } from "../measure/speed.ts";
import { secondsText } from "../measure/advice.ts";
import type { CostedRoute, Finding, Subject } from "./rule.ts";
import { routeSeconds } from "./seconds.ts";

const DEVICES = ["ane", "gpu", "cpu", "host"] as const;
/** Parts of a gain below this share of it are not worth words. */
const WORTH_WORDS = 0.05;

type Costed = Pick<CostedRoute, "cost">;

/** "Of the gain, 421 µs are starting and handing over, 107 µs the ops' own work. Then everything runs on the CPU." */
export function originText({ cost: before }: Costed, { cost: after }: Costed): string {
  const gain = before.step.value - after.step.value;
  const less = (of: (cost: StepCost) => Seconds): number => of(before).value - of(after).value;
  const parts = [
    { words: "starting and handing over", seconds: less(({ overhead }) => overhead) },
    { words: "the work of the ops", seconds: less(({ segments }) => sumOf(segments.map(({ work }) => work))) },
    { words: "copying caches", seconds: less(({ caches }) => caches) },
  ].filter(({ seconds }) => Math.abs(seconds) >= WORTH_WORDS * gain);
  const list = (sign: 1 | -1): readonly string[] =>
    parts
      .filter(({ seconds }) => seconds * sign > 0)
      .sort((a, b) => Math.abs(b.seconds) - Math.abs(a.seconds))
      .map(({ words, seconds }) => `${secondsText(Math.abs(seconds))} of ${words}`);
  const [saved, added] = [list(1), list(-1)];
  const more = added.length === 0 ? "" : `, for ${added.join(" and ")} more`;
  return `It saves ${saved.join(", ")}${more}.${movedText(before, after)}`;
}

/** " Then everything runs on the CPU."; nothing where the devices stay the same. */
function movedText(before: StepCost, after: StepCost): string {
  const [was, is] = [devicesOf(before), devicesOf(after)];
  const [only] = is;
  if (only !== undefined && is.length === 1 && was.join() !== is.join())
    return ` Then everything runs on the ${UNIT_NAMES[only]}.`;
  const left = was.filter((device) => !is.includes(device)).map((device) => UNIT_NAMES[device]);
  return left.length === 0 ? "" : ` Then nothing runs on the ${left.join(" and the ")}.`;
}

/** What takes part in a step. */
export const devicesOf = (cost: StepCost): readonly CostDevice[] =>
  DEVICES.filter((device) => deviceSeconds(cost, device).value > 0);

/** A plain switch of units that takes no longer than an advice. */
export interface UnitSwitch {
  readonly target: TargetSpec;
  readonly title: string;
  readonly route: CostedRoute;
}

/** Whether only the units differ: such an advice is a plain switch itself, and so are units for prefill alone. */
const isUnitSwitch = (from: TargetSpec, to: TargetSpec): boolean =>
  JSON.stringify({ ...from, units: to.units }) === JSON.stringify(to) ||
  (to.options?.prefillUnits ?? null) !== (from.options?.prefillUnits ?? null);

/** The fastest plain switches that take no longer than the finding: on devices that it needs too, and on any. */
export async function unitSwitches(
  subject: Subject,
  { change, after }: Finding,
): Promise<{ readonly within?: UnitSwitch; readonly beyond?: UnitSwitch }> {
  const { target } = subject;
  if (change.kind !== "target" || isUnitSwitch(target, change.target)) return {};
  const needed = devicesOf((await subject.route(change.target)).cost);
  let [within, beyond]: [UnitSwitch | undefined, UnitSwitch | undefined] = [undefined, undefined];
  for (const { id, title } of UNITS) {
    if (id === target.units) continue;
    const plain = { ...target, units: id };
    const route = await subject.route(plain);
    if (routeSeconds(route) > after.value) continue;
    const one = { target: plain, title, route };
    const isWithin = devicesOf(route.cost).every((device) => needed.includes(device));
    if (isWithin && !(within !== undefined && routeSeconds(within.route) <= routeSeconds(route))) within = one;
    if (!isWithin && !(beyond !== undefined && routeSeconds(beyond.route) <= routeSeconds(route))) beyond = one;
  }
  return { ...(within !== undefined && { within }), ...(beyond !== undefined && { beyond }) };
}

/**
 * The finding as it is advised: undefined where a plain switch does it, unless it mends what the verdict names; with a word on the
 * plain switch that is faster.
 */
export async function besideSwitches(
  subject: Subject,
  finding: Finding,
  mendsNamed: boolean,
): Promise<Finding | undefined> {
  const { within, beyond } = await unitSwitches(subject, finding);
  if (within !== undefined && !mendsNamed) return undefined;
  const [fastest] = [within, beyond]
    .filter((one) => one !== undefined)
    .sort((a, b) => routeSeconds(a.route) - routeSeconds(b.route));
  if (fastest === undefined) return finding;
  const { title, route } = fastest;
  const devices = devicesOf(route.cost).map((device) => UNIT_NAMES[device]);
  return {
    ...finding,
    claim: `${finding.claim} "${title}" is predicted faster still, ${secondsText(routeSeconds(route))}, on the ${devices.join(" and the ")}.`,
  };
}
