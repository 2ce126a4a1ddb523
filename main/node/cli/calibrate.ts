/** `rlx doctor --calibrate`: what each device of this machine does, and which is the best for a model. */
import type { CalibrateItem, DeviceAdvice } from "../../contract/views/machine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command } from "./client.ts";
import { unfinished } from "./client.ts";
import { phaseText } from "./output.ts";

type Measured = Extract<CalibrateItem, { readonly kind: "measured" }>;

/** A question of 500 tokens and an answer of 200, to a model of a billion parameters in 4 bits. */
const TYPICAL = { model: null, promptTokens: 500, generateTokens: 200 } as const;

export async function calibrate(command: Command): Promise<number> {
  const { client, output, signal } = command;
  let measured: Measured | undefined;
  for await (const item of client.stream("devices.calibrate", TYPICAL, { signal })) {
    if (item.kind === "phase") output.progress(phaseText(item), item.name);
    else if (item.kind === "measured") measured = item;
    else if (measured !== undefined) return print(command, measured, item.advice);
  }
  throw unfinished(signal);
}

function print({ output }: Command, { calibrations, need, ranks }: Measured, advice: DeviceAdvice): number {
  const [best] = ranks;
  if (best === undefined)
    throw new WorkbenchError("ENV_NO_DEVICE", `[rlx doctor] ${advice.devices[0]?.sentence ?? "no device is here"}`, {
      hint: "`rlx doctor` says what is missing.",
    });
  output.value({ calibrations, need, ranks });
  const giga = (value: number): string => (value / 1e9).toFixed(1);
  output.table(
    ["device", "product 256³", "1024³", "memory", "sum", "Q8_0 × vector", "attention", "round trip", ""],
    calibrations.map(({ calibration: c, how }) => [
      c.title,
      ...c.gemm.map(({ flops }) => `${giga(flops)} GFLOP/s`),
      ...[c.bandwidth, c.reduction, c.quantised].map((rate) => `${giga(rate)} GB/s`),
      ...[c.attention, c.roundTrip].map((seconds) => `${(seconds * 1e6).toFixed(0)} µs`),
      how,
    ]),
    { right: [1, 2, 3, 4, 5, 6, 7] },
  );
  output.line(
    `\nFor a model of a billion parameters in 4 bits: ${best.device} (predicted from these numbers: ${ranks.map((rank) => `${rank.device} ${(rank.promptSeconds + rank.generateSeconds).toFixed(1)} s`).join(", ")} for 500 tokens read and 200 written).`,
  );
  return 0;
}
