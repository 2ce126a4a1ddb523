/** Questions that only a device on this machine can answer, as a stream: each answer as soon as it is known. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { EngineDevices, Verification } from "../devices.ts";
import { progressStream } from "../progressStream.ts";
import type { Jobs } from "../jobs.ts";

type Item = StreamItemOf<"doctor.verify">;

export function verifyHandler(devices: EngineDevices, jobs: Jobs): EngineHandlers["streams"]["doctor.verify"] {
  return async function* answers(_, { signal }) {
    const verify = devices.listed.map((device) => device.verify).find((each) => each !== undefined);
    if (verify === undefined)
      throw new WorkbenchError("ENV_NO_DEVICE", "[doctor] got a request, expected a device that answers questions", {
        hint: "No device of this version does.",
      });
    const job = jobs.start("compile", "questions to the device");
    try {
      const { truth, machine } = yield* progressStream<Item, Verification>((emit) =>
        verify({ signal, onAnswer: (answer) => emit({ kind: "answer", answer }) }),
      );
      yield { kind: "done", truth, machine };
    } finally {
      job.end();
    }
  };
}
