/** A client of the supervisor's engine process. When the engine dies, the next one takes its place. */
import type { AttachableClient } from "../../contract/client.ts";
import { createClient } from "../../contract/client.ts";
import { decodeFrame, encodeFrame } from "../../contract/codec.ts";
import type { Contract } from "../../contract/contract.ts";
import { contract } from "../../contract/contract.ts";
import { createInbox } from "../../contract/port.ts";
import type { EngineProcess } from "../serve/engineProcess.ts";

/** An engine that dies at its start is not started without pause. */
const AGAIN_MS = 500;

export function engineClient(engine: EngineProcess): AttachableClient<Contract> {
  const client = createClient(contract);
  const attach = (): void => {
    const inbox = createInbox();
    const { send, leave } = engine.connect({
      frame: (bytes) => inbox.receive(decodeFrame(bytes)),
      close: (reason) => {
        inbox.end(reason);
        if (client.state !== "closed") setTimeout(attach, AGAIN_MS).unref();
      },
    });
    client.attach({
      send: (frame) => send(encodeFrame(frame)),
      onMessage: inbox.onMessage,
      onClose: inbox.onClose,
      close: (reason) => {
        leave();
        inbox.end(reason);
      },
    });
  };
  attach();
  return client;
}
