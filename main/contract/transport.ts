/**
 * What both ends of `rlx serve` agree on beside the frames. The token never stands in a request line: the page gets it in the
 * URL's fragment (which no server sees), removes it from the address bar, and offers it as a WebSocket subprotocol.
 */
export const SOCKET_PATH = "/engine";
/** The subprotocol that the server selects. */
export const SOCKET_PROTOCOL = "rlx.workbench.1";
/** The second one that the client offers: this prefix and the token. */
export const TOKEN_PROTOCOL_PREFIX = "rlx.token.";
/** `http://127.0.0.1:PORT/#token=…`, optionally `&open=<path or offer id>` to open at once. */
export const TOKEN_FRAGMENT_KEY = "token";
export const OPEN_FRAGMENT_KEY = "open";

/** Close codes of the socket, so that the window can say what happened. */
export const CLOSE_CODES = { engineLost: 4001, unauthorized: 4003, badFrame: 4002 } as const;
