/**
 * Which device is the fastest here for a model, by what each of them measured: pickBestDevice with its arithmetic. Calibrations
 * are those that `rlx doctor --calibrate` keeps; where nothing is kept, this engine remembers its own.
 */
import type { DeviceAdvice } from "../../contract/views/machine.ts";
import type { DeviceInfo, RunDevice } from "../../contract/views/engine.ts";
import type { Fact } from "../../contract/views/common.ts";
import { requireArchitecture } from "../../models/architecture.ts";
import type { Calibration, DeviceNeed, DeviceRank } from "../../runtime/calibration.ts";
import { pickBestDevice } from "../../runtime/calibration.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import type { Device } from "../../runtime/device.ts";
import type { EngineDevices } from "../devices.ts";
import { bytesFigure, figure } from "./forecast.ts";
import type { CalibrationStore, KnownCalibration } from "../services.ts";
import type { OpenModel } from "../models/openModel.ts";
import { modelShape } from "./shape.ts";

export interface CalibrationAccess {
  /** What is known now, nothing measured. */
  readonly known: () => Promise<readonly Calibration[]>;
  /** Measures what is not known; all of it with `again`. */
  readonly measure: (signal: AbortSignal, again: boolean) => Promise<readonly KnownCalibration[]>;
}

export interface CalibrationSettings {
  readonly devices: EngineDevices;
  readonly threads: number;
  readonly store: CalibrationStore;
}

type MakeDevice = (weights?: WeightFiles) => Device;

/** The devices that can be measured here: those that compile the small graphs. */
export const calibratedDevices = ({
  devices,
  threads,
}: Pick<CalibrationSettings, "devices" | "threads">): readonly MakeDevice[] =>
  devices.listed.flatMap((device) => {
    const make = device.device?.bind(device);
    if (make === undefined || !device.probe().ok) return [];
    return [(weights?: WeightFiles) => make({ threads, ...(weights === undefined ? {} : { weights }) })];
  });

export function calibrationAccess(settings: CalibrationSettings): CalibrationAccess {
  const { store } = settings;
  let own: readonly Calibration[] = [];
  const known = async (): Promise<readonly Calibration[]> => {
    const found: Calibration[] = [];
    for (const make of calibratedDevices(settings)) {
      const device = make();
      const one = own.find((each) => each.device === device.id) ?? (await store.kept(device));
      if (one !== undefined) found.push(one);
    }
    return found;
  };
  return {
    known,
    measure: async (signal, again) => {
      const devices = calibratedDevices(settings);
      const before = again ? [] : await known();
      if (before.length === devices.length) return before.map((calibration) => ({ calibration, how: "kept" }));
      const made = await store.measure(devices, { signal, again });
      own = made.map(({ calibration }) => calibration);
      return made;
    },
  };
}

/** A model of a billion parameters in 4 bits. */
export const TYPICAL = { weightBytes: 0.6e9, parameters: 1e9, layers: 16 } as const;

export function needOf(
  model: OpenModel | undefined,
  tokens: Pick<DeviceNeed, "promptTokens" | "generateTokens">,
): DeviceNeed {
  if (model?.file === undefined) return { ...TYPICAL, ...tokens };
  const shape = modelShape(model.file, requireArchitecture(model.file));
  return { weightBytes: shape.bytesPerToken, parameters: shape.activeParameters, layers: shape.layers, ...tokens };
}

const rateText = (perSecond: number, unit: string): string => `${(perSecond / 1e9).toPrecision(3)} G${unit}/s`;
export const secondsText = (seconds: number): string =>
  seconds >= 1
    ? `${Number(seconds.toPrecision(3))} s`
    : seconds >= 1e-3
      ? `${Number((seconds * 1e3).toPrecision(3))} ms`
      : `${Number((seconds * 1e6).toPrecision(3))} µs`;
const count = (n: number): string =>
  n >= 1e9 ? `${(n / 1e9).toPrecision(3)} B` : n >= 1e6 ? `${(n / 1e6).toPrecision(3)} M` : String(n);

/** The sums of pickBestDevice, written out. */
export function arithmeticOf(need: DeviceNeed, known: Calibration, rank: DeviceRank): readonly Fact[] {
  return [
    {
      label: `prefill of ${need.promptTokens} tokens`,
      value: `2 × ${count(need.parameters)} × ${need.promptTokens} ÷ ${rateText(rank.flops, "FLOP")} = ${secondsText(rank.promptSeconds)}`,
    },
    {
      label: "one token",
      value: `${bytesFigure(need.weightBytes)} ÷ ${rateText(known.quantised, "B")} + ${need.layers} × ${secondsText(known.attention)} + ${secondsText(known.roundTrip)} = ${secondsText(rank.perToken)}`,
    },
    {
      label: `decode of ${need.generateTokens} tokens`,
      value: `${need.generateTokens} × ${secondsText(rank.perToken)} = ${secondsText(rank.generateSeconds)}`,
    },
  ];
}

/** Why a device has no time. */
function unmeasured({ available, sentence, capabilities: { graphs } }: DeviceInfo): string {
  if (!available) return sentence;
  return graphs === true ? "Not measured yet." : `Not reckoned: ${graphs}`;
}

const BASIS = "reckoned from what this device measured here: products, memory, attention, round trip";

export interface AdviceInput {
  readonly need: DeviceNeed;
  readonly needText: string;
  readonly devices: readonly DeviceInfo[];
  readonly known: readonly Calibration[];
}

export function adviceOf({ need, needText, devices, known }: AdviceInput): DeviceAdvice {
  const ranks = known.length === 0 ? [] : pickBestDevice(known, need);
  const rows = devices.map((info): DeviceAdvice["devices"][number] => {
    const rank = ranks.find(({ device }) => device === info.id);
    const own = known.find(({ device }) => device === info.id);
    if (rank === undefined || own === undefined)
      return {
        device: info.id,
        title: info.title,
        seconds: null,
        promptSeconds: null,
        generateSeconds: null,
        arithmetic: [],
        sentence: unmeasured(info),
      };
    const predicted = (value: number): ReturnType<typeof figure> => figure(value, "seconds", "predicted", BASIS);
    return {
      device: info.id,
      title: info.title,
      seconds: predicted(rank.promptSeconds + rank.generateSeconds),
      promptSeconds: predicted(rank.promptSeconds),
      generateSeconds: predicted(rank.generateSeconds),
      arithmetic: [...arithmeticOf(need, own, rank)],
      sentence: own.title,
    };
  });
  const best = ranks[0]?.device;
  return {
    promptTokens: need.promptTokens,
    generateTokens: need.generateTokens,
    need: needText,
    devices: rows,
    best: (devices.find(({ id }) => id === best)?.id ?? null) satisfies RunDevice | null,
    sentence: adviceSentence(ranks, rows),
    canCalibrate: devices.some(
      ({ id, available, capabilities }) =>
        capabilities.graphs === true && available && !known.some(({ device }) => device === id),
    ),
  };
}

function adviceSentence(ranks: readonly DeviceRank[], rows: DeviceAdvice["devices"]): string {
  const [best, second] = ranks;
  if (best === undefined) return "No device was measured on this machine yet.";
  const title = (rank: DeviceRank): string => rows.find(({ device }) => device === rank.device)?.title ?? rank.device;
  const whole = (rank: DeviceRank): number => rank.promptSeconds + rank.generateSeconds;
  if (second === undefined)
    return `Only ${title(best)} was measured: ${secondsText(whole(best))} for prefill and decode.`;
  // The part that makes the larger difference is the reason.
  const reading = second.promptSeconds - best.promptSeconds;
  const writing = second.generateSeconds - best.generateSeconds;
  const [what, mine, other] =
    reading > writing
      ? ["prefill takes", best.promptSeconds, second.promptSeconds]
      : ["decode takes", best.generateSeconds, second.generateSeconds];
  return `Fastest here: ${title(best)}, because ${what} ${secondsText(mine)} against ${secondsText(other)} on ${title(second)} (together ${secondsText(whole(best))} against ${secondsText(whole(second))}).`;
}
