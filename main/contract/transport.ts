/**
 * What both ends of `rlx serve` agree on beside the frames. The token stands in no address and on no command line: an
 * address carries a ticket that works once. The page exchanges it for the token, keeps the token in the tab's memory,
 * and offers it as a WebSocket subprotocol. An address in a browser's history is worth nothing.
 */
export const SOCKET_PATH = "/engine";
/** The subprotocol that the server selects. */
export const SOCKET_PROTOCOL = "rlx.workbench.1";
/** The second one that the client offers: this prefix and the token. */
export const TOKEN_PROTOCOL_PREFIX = "rlx.token.";
/** `http://127.0.0.1:PORT/#ticket=…`, optionally `&open=<path or offer id>` to open at once. */
export const TICKET_FRAGMENT_KEY = "ticket";
/** POST a ticket as the body: the answer is the token as text, once. */
export const SESSION_PATH = "/session";
/** POST with the token as a bearer: the answer is a new address as text, for another browser. */
export const ADDRESS_PATH = "/address";
export const OPEN_FRAGMENT_KEY = "open";

/** Close codes of the socket, so that the window can say what happened. */
export const CLOSE_CODES = { engineLost: 4001, unauthorized: 4003, badFrame: 4002 } as const;
