/** The open questions about Core ML as a stream: each answer as soon as it is known. */
import type { EngineHandlers, StreamItemOf } from "../../../contract/contract.ts";
import { during } from "../../../engine/during.ts";
import type { Jobs } from "../../../engine/jobs.ts";
import type { CoremlAccess } from "./device.ts";
import type { Verification } from "./verify.ts";
import { verify } from "./verify.ts";

type Item = StreamItemOf<"doctor.verify">;

export function verifyHandler(coreml: CoremlAccess, jobs: Jobs): EngineHandlers["streams"]["doctor.verify"] {
  return async function* answers(_, { signal }) {
    const job = jobs.start("compile", "questions to Core ML");
    try {
      const { truth, machine } = yield* during<Item, Verification>((emit) =>
        verify(coreml, { signal, onAnswer: (answer) => emit({ kind: "answer", answer }) }),
      );
      yield { kind: "done", truth, machine };
    } finally {
      job.end();
    }
  };
}
