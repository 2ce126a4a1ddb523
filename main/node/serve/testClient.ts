/** For tests: connects to `rlx serve` as the window does, a socket as the contract's port. */
import { WebSocket } from "ws";
import { decodeFrame, encodeFrame } from "../../contract/codec.ts";
import type { Port } from "../../contract/port.ts";
import { createInbox } from "../../contract/port.ts";
import { SOCKET_PATH, SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX } from "../../contract/transport.ts";

export interface ServedPort {
  readonly port: Port;
  /** The code that the socket was closed with. */
  readonly closed: Promise<number>;
}

export async function connectTo(server: { readonly port: number; readonly token: string }): Promise<ServedPort> {
  const socket = new WebSocket(
    `ws://127.0.0.1:${server.port}${SOCKET_PATH}`,
    [SOCKET_PROTOCOL, TOKEN_PROTOCOL_PREFIX + server.token],
    { origin: `http://127.0.0.1:${server.port}` },
  );
  const inbox = createInbox();
  socket.on("message", (data: Buffer) => inbox.receive(decodeFrame(data)));
  const closed = new Promise<number>((resolve) =>
    socket.on("close", (code, reason) => {
      inbox.end(reason.toString());
      resolve(code);
    }),
  );
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    port: {
      send: (frame) => socket.send(encodeFrame(frame)),
      onMessage: inbox.onMessage,
      onClose: inbox.onClose,
      close: () => socket.close(),
    },
    closed,
  };
}
