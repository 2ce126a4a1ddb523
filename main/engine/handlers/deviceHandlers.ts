/** The devices of this machine compared: which is fastest for a model, what MLX would do with it, and the state they are in. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { DeviceAdvice } from "../../contract/views/machine.ts";
import type { MlxRoute } from "../../contract/views/mlx.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { pickBestDevice } from "../../runtime/calibration.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { MlxAccess } from "../../runtime/devices/mlx.ts";
import type { CalibrationAccess } from "../measure/advice.ts";
import { adviceOf, arithmeticOf, needOf } from "../measure/advice.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import { deviceList } from "../devices.ts";
import { bytesFigure, figure } from "../measure/forecast.ts";
import { stepTokens } from "../models/graphs.ts";
import type { Jobs } from "../jobs.ts";
import { machineState } from "../measure/machineState.ts";
import type { Machine } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { mlxMapping } from "../models/routeOnMlx.ts";
import { planTarget } from "../models/routes.ts";
import { phaseItem } from "./runHandlers.ts";

export interface DeviceParts {
  readonly store: ModelStore;
  readonly devices: EngineDevices;
  readonly mlx: MlxAccess;
  readonly dispatch: DispatchPolicy;
  readonly jobs: Jobs;
  readonly machine: Machine;
  readonly initialTarget: TargetSpec;
  readonly calibration: CalibrationAccess;
}

interface Asked {
  readonly model: string | null;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export function deviceHandlers(
  parts: DeviceParts,
): Pick<EngineHandlers["calls"], "machine.state" | "devices.advise" | "route.mlx" | "route.planned"> {
  return {
    "machine.state": () => machineState(parts),
    "devices.advise": (asked) => advise(parts, asked),
    "route.mlx": async ({ model, phase, context }, { signal }) =>
      routeOnMlx(parts, parts.store.get(model), phase, context, signal),
    "route.planned": ({ model, target, phase }, { signal }) =>
      plannedOf(parts.devices)({ model: parts.store.get(model), target, phase, signal }),
  };
}

export function calibrateHandler(parts: DeviceParts): EngineHandlers["streams"]["devices.calibrate"] {
  return async function* calibrate(asked, { signal }) {
    const started = performance.now();
    const job = parts.jobs.start("calibrate", "this machine");
    try {
      yield phaseItem("calibrate", "Measuring what each device does: products, memory, attention", started);
      const calibrations = await parts.calibration.measure(signal, asked.again);
      const need = needOf(asked.model === null ? undefined : parts.store.get(asked.model), asked);
      const known = calibrations.map(({ calibration }) => calibration);
      const ranks = known.length === 0 ? [] : pickBestDevice(known, need);
      yield { kind: "measured", calibrations, need, ranks };
      yield { kind: "done", advice: await advise(parts, asked) };
    } finally {
      job.end();
    }
  };
}

/** What tells the system's own plan. */
function plannedOf({ find }: EngineDevices): NonNullable<EngineDevice["planned"]> {
  const device = find("plan");
  if (device?.planned === undefined)
    throw new WorkbenchError("ENV_NO_DEVICE", "[route] no device can report a plan", {
      hint: "The predicted route needs no such device.",
    });
  const { planned } = device;
  return (request) => planned(request);
}

async function advise(parts: DeviceParts, asked: Asked): Promise<DeviceAdvice> {
  const model = asked.model === null ? undefined : parts.store.get(asked.model);
  const need = needOf(model, asked);
  return adviceOf({
    need,
    needText:
      model?.file === undefined
        ? "A model of a billion parameters in 4 bits"
        : `${model.description.title}, ${bytesFigure(need.weightBytes)} read for a token`,
    devices: deviceList(parts.devices),
    known: await parts.calibration.known(),
  });
}

async function routeOnMlx(
  parts: DeviceParts,
  model: OpenModel,
  phase: Phase,
  asked: number,
  signal: AbortSignal,
): Promise<MlxRoute> {
  const stated = { ...parts.initialTarget, context: asked };
  const target = { ...stated, context: planTarget(model, stated, phase).context };
  const mapping = await mlxMapping(model, { target, phase, dispatch: parts.dispatch }, signal);
  const available = parts.mlx.missing() === undefined;
  const { native, decomposed, unsupported } = mapping.counts;
  const whole = native + decomposed + unsupported;
  return {
    ...mapping,
    available,
    title: available ? parts.mlx.title() : "MLX, not here",
    sentence:
      unsupported === 0
        ? `MLX runs all ${whole} ops${decomposed === 0 ? "" : `, ${decomposed} of them as their parts`}. ${parts.mlx.sentence()}`
        : `MLX cannot run ${unsupported} of ${whole} ops. ${parts.mlx.sentence()}`,
    ...(await timeOf(parts, model, phase, unsupported)),
  };
}

type Time = Pick<MlxRoute, "seconds" | "arithmetic" | "whyNoTime">;

/** One step of the phase by what MLX measured here. */
async function timeOf(parts: DeviceParts, model: OpenModel, phase: Phase, unsupported: number): Promise<Time> {
  const none = (whyNoTime: string): Time => ({ seconds: null, arithmetic: [], whyNoTime });
  if (model.file === undefined) return none("No time is reckoned for a graph without layers of weights.");
  if (unsupported > 0) return none("No time: MLX cannot run all of it.");
  if (parts.mlx.missing() !== undefined) return none("No time: MLX is not here to be measured.");
  const known = (await parts.calibration.known()).find(({ device }) => device === parts.mlx.id);
  if (known === undefined)
    return none("No time: MLX was not measured here yet. Measure the devices (in a terminal: rlx doctor --calibrate).");
  const tokens = stepTokens(phase);
  const need = needOf(model, { promptTokens: phase === "prefill" ? tokens : 0, generateTokens: 1 });
  const [rank] = pickBestDevice([known], need);
  if (rank === undefined) return none("No time.");
  const [reading, token] = arithmeticOf(need, known, rank);
  const row = phase === "prefill" ? reading : token;
  return {
    seconds: figure(
      phase === "prefill" ? rank.promptSeconds : rank.perToken,
      "seconds",
      "predicted",
      "reckoned from what MLX measured here",
    ),
    arithmetic: row === undefined ? [] : [row],
    whyNoTime: null,
  };
}
