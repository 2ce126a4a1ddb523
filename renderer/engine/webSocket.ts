/** The contract's port over a WebSocket of `rlx serve`. */
import { decodeFrame, encodeFrame } from "../../main/contract/codec.ts";
import type { Port } from "../../main/contract/port.ts";
import { createInbox } from "../../main/contract/port.ts";
import { CLOSE_CODES, SOCKET_PATH, SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX } from "../../main/contract/transport.ts";

export function webSocketUrl(page: URL): string {
  const url = new URL(SOCKET_PATH, page);
  url.protocol = page.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

export function webSocketPort(url: string, token: string): Port {
  const inbox = createInbox();
  const socket = new WebSocket(url, [SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX + token]);
  socket.binaryType = "arraybuffer";
  const early: Uint8Array<ArrayBuffer>[] = [];
  const end = (reason: string): void => {
    if (inbox.ended()) return;
    inbox.end(reason);
    socket.close();
  };
  socket.addEventListener("open", () => {
    for (const bytes of early.splice(0)) socket.send(bytes);
  });
  socket.addEventListener("message", ({ data }) => {
    if (!(data instanceof ArrayBuffer)) return end("the server sent text");
    try {
      inbox.receive(decodeFrame(new Uint8Array(data)));
    } catch (error) {
      end(error instanceof Error ? error.message : "a message that does not decode");
    }
  });
  socket.addEventListener("close", ({ code, reason }) => end(describeClose(code, reason)));
  return {
    send(frame) {
      if (inbox.ended()) return;
      const bytes = encodeFrame(frame);
      if (socket.readyState === WebSocket.CONNECTING) early.push(bytes);
      else if (socket.readyState === WebSocket.OPEN) socket.send(bytes);
    },
    onMessage: inbox.onMessage,
    onClose: inbox.onClose,
    close: end,
  };
}

export const UNAUTHORIZED_REASON = "the server did not accept this page's token";

function describeClose(code: number, reason: string): string {
  if (code === CLOSE_CODES.unauthorized) return UNAUTHORIZED_REASON;
  if (code === CLOSE_CODES.engineLost) return reason === "" ? "the engine process ended" : reason;
  return reason === "" ? "the connection ended" : reason;
}
