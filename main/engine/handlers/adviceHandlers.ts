/** Advice for a subject: the list, what a change would make of the route, and whether it holds on this machine. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { Ability, Figure, TargetSpec } from "../../contract/views/common.ts";
import type { AdviceChange, AdvicePreview } from "../../contract/views/advice.ts";
import { RUNTIMES } from "../../contract/views/graph.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import { invariant, WorkbenchError } from "../../diagnostics/errors.ts";
import { benchCell } from "../../runtime/bench.ts";
import type { Found } from "../advice/advise.ts";
import { adviceView, findAdvice, subjectText } from "../advice/advise.ts";
import type { Trial } from "../advice/measure.ts";
import { adviceVerdictOf, trialOf } from "../advice/measure.ts";
import type { CostedRoute, Subject } from "../advice/rule.ts";
import { ADVICE_RULES } from "../advice/rules.ts";
import type { SubjectParts } from "../advice/subject.ts";
import { adviceSubject } from "../advice/subject.ts";
import { missingOf } from "../devices.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import type { Jobs } from "../jobs.ts";
import { shareOf } from "../measure/costFigures.ts";
import { figure } from "../measure/forecast.ts";
import { createGate } from "../measure/gate.ts";
import { stateNotes } from "../measure/machineState.ts";
import type { DecoderChoice, Decoders, Lease } from "../models/decoders.ts";
import { leaseInPhases } from "../models/decoders.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import type { Machine, VerdictStore } from "../services.ts";
import { settledStream } from "../progressStream.ts";
import { CAN, cannot } from "../views/overviewView.ts";
import { bytesPerStep, routeView } from "../views/routeView.ts";
import { counted } from "../words.ts";
import { dataAbility } from "./inspectHandlers.ts";
import { phaseItem } from "./runHandlers.ts";

type Asked = Parameters<EngineHandlers["calls"]["advice.list"]>[0];

export interface AdviceParts extends SubjectParts {
  readonly devices: EngineDevices;
  readonly store: ModelStore;
  readonly machine: Machine;
  readonly decoders: Decoders;
  readonly jobs: Jobs;
  readonly verdicts: VerdictStore;
  /** RLX_ALLOW_THROTTLE. */
  readonly allowThrottle: boolean;
}

export function adviceHandlers(parts: AdviceParts): {
  readonly calls: Pick<EngineHandlers["calls"], "advice.list" | "advice.preview">;
  readonly streams: Pick<EngineHandlers["streams"], "advice.measure">;
} {
  const subjectOf = async (asked: Asked, signal: AbortSignal): Promise<Subject> => {
    const model = parts.store.get(asked.model);
    const fastCores = (await parts.machine.coreKinds())?.performance;
    return adviceSubject(parts, { ...asked, model, fastCores }, signal);
  };
  const found = (subject: Subject, signal: AbortSignal): Promise<readonly Found[]> =>
    findAdvice(subject, ADVICE_RULES, signal);
  const chosen = async (subject: Subject, rule: string, signal: AbortSignal): Promise<Found> => {
    const all = await found(subject, signal);
    const one = all.find((each) => each.rule.name === rule);
    if (one !== undefined) return one;
    const names = all.map((each) => each.rule.name).join(", ");
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[advice] rule: got ${rule}, expected one that has something to say here: ${names === "" ? "none has" : names}`,
      { hint: "`rlx advise` lists them." },
    );
  };
  const view = async (subject: Subject, one: Found) => {
    const route = subject.backend === RUNTIMES.coreml ? await subject.route(subject.target) : undefined;
    return adviceView(subject, one, {
      canMeasure: (change) => measurable(parts, subject.model, change),
      verdict: (await parts.verdicts.get(verdictKey(parts.machine, subject, one))) ?? null,
      route,
    });
  };
  return {
    calls: {
      "advice.list": async (asked, { signal }) => {
        const subject = await subjectOf(asked, signal);
        const all = await found(subject, signal);
        const rules = ADVICE_RULES.filter(({ backends }) => backends.includes(subject.backend)).length;
        const advices = await Promise.all(all.map((one) => view(subject, one)));
        const sentence =
          advices.length === 0
            ? `${counted(rules, "rule")} looked, and found nothing that would make it faster.`
            : `${counted(advices.length, "piece")} of advice by ${counted(rules, "rule")}, the largest gain first.`;
        return { advices, rules, sentence };
      },
      "advice.preview": async ({ rule, ...asked }, { signal }) => {
        const subject = await subjectOf(asked, signal);
        const one = await chosen(subject, rule, signal);
        const advice = await view(subject, one);
        const { change } = one.finding;
        if (change.kind !== "target") return { advice, route: null, rows: [] };
        const [before, after] = [await subject.route(subject.target), await subject.route(change.target)];
        const { target } = change;
        const machine = await parts.costs.machineOf(target);
        const { cost, ...route } = after;
        const shown = routeView({ model: asked.model, route, cost, machine, target, phase: subject.phase });
        return { advice, route: shown, rows: comparedRows(before, after) };
      },
    },
    streams: {
      "advice.measure": ({ rule, ...asked }, { signal }) =>
        measure(
          parts,
          () => subjectOf(asked, signal),
          (subject) => chosen(subject, rule, signal),
          { ...asked, signal },
        ),
    },
  };
}

const counts = (value: number): Figure => figure(value, "count", "exact", "counted in the predicted route");

function comparedRows(before: CostedRoute, after: CostedRoute): AdvicePreview["rows"] {
  const ane = ({ cost }: CostedRoute): Figure =>
    figure(shareOf(deviceSeconds(cost, "ane"), cost), "share", "predicted", "of the predicted time of a step");
  return [
    { label: "Neural Engine", before: ane(before), after: ane(after) },
    {
      label: "Segments",
      before: counts(before.segments.length),
      after: counts(after.segments.length),
    },
    {
      label: "Hops",
      before: counts(before.hops.length),
      after: counts(after.hops.length),
    },
    { label: "Bytes moved", before: bytesPerStep(before), after: bytesPerStep(after) },
  ];
}

/** The device that a runtime is. */
const deviceOf = ({ devices }: AdviceParts, id: string): EngineDevice | undefined =>
  devices.listed.find((device) => device.id === id);

/** Whether both sides can be run here. */
function measurable(parts: AdviceParts, model: OpenModel, change: AdviceChange): Ability {
  if (change.kind === "quantize")
    return cannot("INPUT_ARGUMENT", "The smaller file is not there yet.", "Write it, and compare both in Bench.");
  if (model.file === undefined)
    return cannot(
      "INPUT_ARGUMENT",
      "Advice for a graph is not measured here.",
      "Run the graph on both devices, and compare the times.",
    );
  const id = change.kind === "backend" ? change.backend : change.kind === "target" ? RUNTIMES.coreml : RUNTIMES.cpu;
  const device = deviceOf(parts, id);
  if (device === undefined) return cannot("ENV_NO_DEVICE", `There is no device ${id} here.`, null);
  if (device.capabilities.measure !== true) return cannot("ENV_NO_DEVICE", device.capabilities.measure, null);
  return missingOf(device) ?? dataAbility(model, "run") ?? CAN;
}

const verdictKey = ({ chip, cores }: Machine, subject: Subject, { rule, finding }: Found): string =>
  [
    ...[subject.model.file?.headerHash ?? "", chip, cores, subjectText(subject), subject.threads],
    ...[rule.name, JSON.stringify(finding.change)],
  ].join(" ");

/** What runs each side of a change. */
function sidesOf(subject: Subject, { finding: { change } }: Found): readonly [DecoderChoice, DecoderChoice] {
  const { backend, target, threads } = subject;
  const on = (device: string, of: TargetSpec): DecoderChoice => ({
    device,
    threads,
    ...(device === RUNTIMES.coreml && { target: of }),
  });
  switch (change.kind) {
    case "target":
      return [on(RUNTIMES.coreml, target), on(RUNTIMES.coreml, change.target)];
    case "backend":
      return [on(backend, target), on(change.backend, target)];
    case "threads":
      return [on(RUNTIMES.cpu, target), { ...on(RUNTIMES.cpu, target), threads: change.threads }];
    case "quantize":
      throw new WorkbenchError("INPUT_ARGUMENT", "[advice] the smaller file is not there yet", {
        hint: "Write it with rlx quantize, and compare both with rlx bench.",
      });
  }
}

interface MeasureAsked {
  readonly pairs: number;
  readonly tokens: number;
  readonly conditions: "wait" | "warn";
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

async function* measure(
  parts: AdviceParts,
  made: () => Promise<Subject>,
  choose: (subject: Subject) => Promise<Found>,
  { pairs, tokens, conditions, waitSeconds, signal }: MeasureAsked,
): AsyncGenerator<StreamItemOf<"advice.measure">> {
  const started = performance.now();
  const subject = await made();
  const { model, phase } = subject;
  yield phaseItem("rules", "Looking at the advice", started);
  const one = await choose(subject);
  const able = measurable(parts, model, one.finding.change);
  if (!able.ok)
    throw new WorkbenchError("ENV_NO_DEVICE", `[advice] ${one.rule.name} cannot be measured here: ${able.sentence}`, {
      ...(able.hint === null ? {} : { hint: able.hint }),
    });
  const job = parts.jobs.start("bench", model.description.title);
  const leases: Lease[] = [];
  try {
    for (const choice of sidesOf(subject, one)) {
      yield phaseItem("prepare", "Preparing the model", started);
      leases.push(yield* leaseInPhases(parts.decoders, model, { ...choice, context: tokens + 2, own: true, signal }));
    }
    const [before, after] = leases.map(({ session }) =>
      benchCell(session, { test: phase === "prefill" ? "pp" : "tg", tokens, depth: 0 }, { signal }),
    );
    invariant(before && after, "an advice is measured on two sides");
    const trial = yield* settledStream<StreamItemOf<"advice.measure">, Trial>((emit) => {
      const mode = parts.allowThrottle ? "warn" : conditions;
      const say = (sentence: string): void => {
        job.update("waiting for a quiet machine", null);
        emit(phaseItem("conditions", sentence, started));
      };
      return trialOf(
        { before, after },
        {
          ...{ pairs, signal, gate: createGate(parts, { mode, waitSeconds, signal, say }) },
          onPair(index, pair) {
            job.update(`${one.rule.name} ${index + 1}`, (index + 1) / pairs);
            emit({ kind: "pair", index, ...pair });
          },
        },
      );
    });
    const verdict = adviceVerdictOf(trial, {
      machine: parts.machine.chip,
      at: Date.now(),
      // What is red is said as such.
      notes: trial.red.length > 0 ? [] : stateNotes(trial.conditions),
    });
    // One that says nothing does not take the place of one that did.
    if (verdict.outcome !== "not-comparable")
      await parts.verdicts.put(verdictKey(parts.machine, subject, one), verdict);
    yield { kind: "done", verdict };
  } finally {
    for (const lease of leases) await lease.release();
    job.end();
  }
}
