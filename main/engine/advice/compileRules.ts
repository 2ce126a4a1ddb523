/** Advice about how a Core ML program is compiled: each names a lever of the target, and predicts with the route that it gives. */
import { NO_OPTIONS } from "../../backends/coreml/levers.ts";
import type { TargetOptions } from "../../backends/coreml/levers.ts";
import { partRows } from "../../backends/coreml/lowering/rowParts.ts";
import { elementCount, packedByteLength } from "../../backends/coreml/mil/types.ts";
import { aneEdge, chipOf, systemOf } from "../../backends/coreml/plan/target.ts";
import { keepsStates, PROFILE_PRECISION } from "../../backends/coreml/weights/forms.ts";
import type { PlannedWeight } from "../../backends/coreml/weights/plan.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { deviceCode } from "../../contract/views/common.ts";
import { RUNTIMES } from "../../contract/views/graph.ts";
import { bytesFigure, grouped } from "../measure/forecast.ts";
import { secondsText } from "../measure/advice.ts";
import { counted } from "../words.ts";
import { originText } from "./origin.ts";
import type { AdviceRule, CostedRoute, Finding, Subject } from "./rule.ts";
import { routeSeconds } from "./seconds.ts";
import { nodesWith, percentText, stepText, workOf } from "./words.ts";

export const withOptions = (target: TargetSpec, options: Partial<TargetOptions>): TargetSpec => ({
  ...target,
  options: { ...NO_OPTIONS, ...target.options, ...options },
});

/** What the route of another target would gain, with what is said about it; undefined where it gains nothing. */
export async function improved(
  { route }: Subject,
  now: CostedRoute,
  target: TargetSpec,
  say: (after: CostedRoute) => Pick<Finding, "claim" | "ops" | "risk">,
): Promise<Finding | undefined> {
  const after = await route(target);
  if (routeSeconds(after) >= routeSeconds(now)) return undefined;
  const { claim, ...said } = say(after);
  return {
    ...said,
    claim: `${claim} ${originText(now, after)}`,
    before: now.cost.step,
    after: after.cost.step,
    change: { kind: "target", target },
  };
}

const rowsOf = (route: CostedRoute, node: number): number => {
  const weight = route.graph.nodes[node]?.inputs[1];
  const [rows] = (weight && route.graph.nodes[weight.node]?.outputs[weight.output]?.shape) ?? [];
  return typeof rows === "number" ? rows : 0;
};

/** The output matrix of a large vocabulary. */
export const splitRows: AdviceRule = {
  name: "split-rows",
  title: "Split the output matrix",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    if (target.options?.splitRows === true) return undefined;
    const limit = aneEdge(chipOf(target.chip));
    const now = await subject.route(target);
    const ops = nodesWith(now, "ane-size").filter(
      (node) => now.graph.nodes[node]?.op === "linear" && rowsOf(now, node) > limit,
    );
    const [first] = ops;
    if (first === undefined) return undefined;
    const rows = rowsOf(now, first);
    const parts = Math.ceil(rows / partRows(rows, limit));
    return improved(subject, now, withOptions(target, { splitRows: true }), () => ({
      claim: `${percentText(workOf(now, ops))} of ${stepText(subject)} is a matrix of ${grouped(rows)} rows off the Neural Engine, which takes ${grouped(limit)}. In ${parts} parts it runs there.`,
      ops,
      risk: "None for the numbers: every row is the same sum. The joined result still crosses to the CPU once.",
    }));
  },
};

/** Rows that a gather picks, in the middle of what the Neural Engine runs. */
export const islands: AdviceRule = {
  name: "islands",
  title: "Join the islands",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target, phase } = subject;
    if (target.options?.islands === true) return undefined;
    const now = await subject.route(target);
    const picks = nodesWith(now, "ane-gather").filter((node) => {
      const from = now.graph.nodes[node]?.inputs[0];
      return from !== undefined && now.graph.nodes[from.node]?.op !== "param";
    });
    const island = now.segments.find(
      (segment) => segment.index > 0 && segment.nodes.some((node) => picks.includes(node)),
    );
    if (island === undefined) return undefined;
    return improved(subject, now, withOptions(target, { islands: true }), (after) => ({
      claim: `${counted(island.nodes.length, "op")} on the CPU, ${percentText(island.workShare)} of the work, cut the program in two: they pick rows by index. As a product they stay with their neighbours, and ${stepText(subject)} has ${counted(after.hops.length, "hop")} instead of ${now.hops.length}.`,
      ops: island.nodes,
      risk:
        phase === "decode" ? "None: there is one row." : "A row that overflows f16 would spoil the one that is picked.",
    }));
  },
};

/** Caches through the host, where the system has states. */
export const states: AdviceRule = {
  name: "states",
  title: "Keep caches as states",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    const now = await subject.route(target);
    const { profile } = now.target;
    const { opset } = systemOf(target.os);
    const prefillUnits = target.options?.prefillUnits ?? null;
    const possible = !keepsStates(profile, opset, target.options?.states === true) && keepsStates(profile, opset, true);
    if (now.cacheBytes === 0 || !possible || prefillUnits !== null) return undefined;
    return improved(subject, now, withOptions(target, { states: true }), () => ({
      claim: `${bytesFigure(now.cacheBytes)} of caches go in and out for ${stepText(subject)}, ${secondsText(now.cost.caches.value)} of copying. As states they stay where they are.`,
      ops: now.graph.states.flatMap(({ output }) => (output.node === undefined ? [] : [output.node])),
      risk: "The Neural Engine has refused programs with states: what would run there goes to the other units.",
    }));
  },
};

/** Bits of a weight: with 4 the loss is that of a 4-bit file once more, with 8 the gain is smaller. */
const BITS = 6;
/** Share of a step's time that a palette must save before f16 weights are blamed for it. */
const DECIDES = 0.1;

/** F16 matrices that a step waits for, where the Neural Engine reads them. */
export const palette: AdviceRule = {
  name: "palette",
  title: "Store f16 weights as a palette",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    if ((target.options?.palette ?? null) !== null) return undefined;
    const now = await subject.route(target);
    if (PROFILE_PRECISION[now.target.profile] !== "f16") return undefined;
    const changed = withOptions(target, { palette: BITS });
    const after = await subject.route(changed);
    if (routeSeconds(after) > (1 - DECIDES) * routeSeconds(now)) return undefined;
    const stored = new Set(weightsOf(after).flatMap((one) => (one.form.kind === "palette" ? [tensorOf(one)] : [])));
    const read = (node: number): readonly string[] =>
      (now.graph.nodes[node]?.inputs ?? []).map((from) => paramOf(now, from.node)).filter((name) => stored.has(name));
    const ops = now.graph.nodes.flatMap(({ id }) =>
      now.nodes.device[id] === deviceCode("ane") && read(id).length > 0 ? [id] : [],
    );
    const tensors = new Set(ops.flatMap(read));
    const [before, then] = [now, after].map((route) =>
      weightsOf(route).reduce((sum, weight) => sum + (tensors.has(tensorOf(weight)) ? bytesOf(weight) : 0), 0),
    );
    const error = await subject.paletteError(BITS);
    return improved(subject, now, changed, () => ({
      claim: `${percentText(workOf(now, ops))} of ${stepText(subject)} are ops that wait for ${bytesFigure(before ?? 0)} of f16 weights. With ${BITS} bits for each, and tables of f16 values, they are ${bytesFigure(then ?? 0)}, and the Neural Engine reads them so.`,
      ops,
      risk: `${lossText(error)} Expect a small loss of quality, and measure it with rlx score. CPU and GPU unpack the tables: what runs there gains nothing.`,
    }));
  },
};

const lossText = (error: number | undefined): string =>
  error === undefined
    ? `Each weight moves to the nearest of ${2 ** BITS} values; by how much was not measured, for the file has no data here.`
    : `Each weight moves to the nearest of ${2 ** BITS} values: by ${percentText(error)} of the weights' size, measured on some rows.`;

const weightsOf = ({ lowered }: CostedRoute): readonly PlannedWeight[] => lowered?.plan.weights ?? [];

const tensorOf = ({ name, part }: PlannedWeight): string => part?.tensor ?? name;

const bytesOf = ({ parts }: PlannedWeight): number =>
  parts.reduce((sum, { dtype, shape }) => sum + packedByteLength(dtype, elementCount(shape)), 0);

/** The tensor that a node reads from the file; "" of other nodes. */
function paramOf({ graph }: CostedRoute, node: number): string {
  const from = graph.nodes[node];
  return from?.op === "param" ? String(from.attrs["tensor"] ?? from.attrs["name"]) : "";
}
