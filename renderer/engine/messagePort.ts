/** The contract's port over a browser MessagePort: frames are structured clones, typed arrays cross as they are. */
import type { Port } from "../../main/contract/port.ts";
import { createInbox } from "../../main/contract/port.ts";

/** Electron's engine process can end without a word on the channel; `whenLost` reports that. Returns how to stop listening. */
export function messagePortPort(channel: MessagePort, whenLost: (listener: () => void) => () => void): Port {
  const inbox = createInbox();
  const end = (reason: string): void => {
    if (inbox.ended()) return;
    stopListening();
    channel.close();
    inbox.end(reason);
  };
  const stopListening = whenLost(() => end("the engine process ended"));
  channel.addEventListener("message", (message) => inbox.receive(message.data));
  channel.addEventListener("close", () => end("the engine process ended"));
  channel.start();
  return {
    send(frame) {
      if (!inbox.ended()) channel.postMessage(frame);
    },
    onMessage: inbox.onMessage,
    onClose: inbox.onClose,
    close: end,
  };
}
