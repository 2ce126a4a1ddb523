/** `rlx doctor --calibrate`: what each device of this machine does, and which is the best for a model. */
import { availableParallelism } from "node:os";
import { calibratedDevices } from "../../engine/measure/advice.ts";
import { pickBestDevice } from "../../runtime/calibration.ts";
import type { DeviceNeed } from "../../runtime/calibration.ts";
import { BUILD_HASH } from "../buildHash.ts";
import { calibrations } from "../cache/calibrations.ts";
import { chipTitle } from "../machine/machineInfo.ts";
import type { Command } from "./client.ts";

/** A model of a billion parameters in 4 bits, a question of 500 tokens and an answer of 200. */
const TYPICAL: DeviceNeed = {
  weightBytes: 0.6e9,
  parameters: 1e9,
  layers: 16,
  promptTokens: 500,
  generateTokens: 200,
};

export async function calibrate({ engine, output, signal }: Command): Promise<number> {
  const threads = availableParallelism();
  const known = await calibrations({
    devices: calibratedDevices({ devices: engine.devices, threads }),
    machine: `${chipTitle()} ${threads}`,
    store: engine.plans,
    build: BUILD_HASH,
    signal,
  });
  const ranks = pickBestDevice(
    known.map(({ calibration }) => calibration),
    TYPICAL,
  );
  output.value({ calibrations: known, need: TYPICAL, ranks });
  const giga = (value: number): string => (value / 1e9).toFixed(1);
  output.table(
    ["device", "product 256³", "1024³", "memory", "sum", "Q8_0 × vector", "attention", "round trip", ""],
    known.map(({ calibration: c, how }) => [
      c.title,
      ...c.gemm.map(({ flops }) => `${giga(flops)} GFLOP/s`),
      ...[c.bandwidth, c.reduction, c.quantised].map((rate) => `${giga(rate)} GB/s`),
      ...[c.attention, c.roundTrip].map((seconds) => `${(seconds * 1e6).toFixed(0)} µs`),
      how,
    ]),
    { right: [1, 2, 3, 4, 5, 6, 7] },
  );
  const [best] = ranks;
  if (best)
    output.line(
      `\nFor a model of a billion parameters in 4 bits: ${best.device} (predicted from these numbers: ${ranks.map((rank) => `${rank.device} ${(rank.promptSeconds + rank.generateSeconds).toFixed(1)} s`).join(", ")} for 500 tokens read and 200 written).`,
    );
  return 0;
}
