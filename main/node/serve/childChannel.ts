/** The engine's end of a fork's channel: one contract port per socket of the supervisor. */
import { decodeFrame, encodeFrame, REQUEST_LIMITS } from "../../contract/codec.ts";
import { CONNECTION_ID } from "../../contract/frames.ts";
import type { PortInbox } from "../../contract/port.ts";
import { createBacklog, createInbox } from "../../contract/port.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import type { Connectable } from "../../engine/connection.ts";
import type { FromEngine } from "./messages.ts";
import { isToEngine } from "./messages.ts";

/** Bytes in flight to the supervisor before work waits. */
const MOST_WAITING = 32 << 20;

/** False when this process was not forked with a channel. */
export function serveChildChannel(engine: Connectable): boolean {
  const send = process.send?.bind(process);
  if (!send) return false;
  const inboxes = new Map<number, PortInbox>();
  const backlog = createBacklog(MOST_WAITING);
  const post = (message: FromEngine): void => {
    // A dead supervisor takes no more. "disconnect" reports its end.
    if (!process.connected) return;
    const left = backlog.add(message.t === "frame" ? message.bytes.byteLength : 0);
    send(message, undefined, undefined, left);
  };
  const end = (socket: number, reason: string): void => {
    inboxes.get(socket)?.end(reason);
    inboxes.delete(socket);
  };
  process.on("message", (message: unknown) => {
    if (!isToEngine(message)) return;
    const { socket } = message;
    if (message.t === "close") end(socket, "the window closed the connection");
    else if (message.t === "open") {
      const inbox = createInbox();
      inboxes.set(socket, inbox);
      engine.connect({
        send: (frame) => post({ t: "frame", socket, bytes: encodeFrame(frame) }),
        room: backlog.room,
        onMessage: inbox.onMessage,
        onClose: inbox.onClose,
        close: (reason) => {
          post({ t: "close", socket, reason });
          end(socket, reason);
        },
      });
    } else {
      try {
        inboxes.get(socket)?.receive(decodeFrame(message.bytes, REQUEST_LIMITS));
      } catch (error) {
        const wire = toWireError(error);
        const { message: reason } = wire;
        post({ t: "frame", socket, bytes: encodeFrame({ t: "err", id: CONNECTION_ID, error: wire }) });
        post({ t: "close", socket, reason });
        end(socket, reason);
      }
    }
  });
  post({ t: "ready" });
  return true;
}
