/**
 * What the address of the page says: the server's token and what to open at once. Both stand in the fragment and are removed
 * from the address bar; the token stays for reloads of this tab.
 */
import { OPEN_FRAGMENT_KEY, TOKEN_FRAGMENT_KEY } from "../../main/contract/transport.ts";

export interface StartParameters {
  readonly token: string | null;
  readonly open: string | null;
}

export function readFragment(hash: string): StartParameters {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  return { token: parameters.get(TOKEN_FRAGMENT_KEY), open: parameters.get(OPEN_FRAGMENT_KEY) };
}

const STORED_TOKEN = "rlx.token";

export function takeStartParameters(): StartParameters {
  const { token, open } = readFragment(location.hash);
  if (token !== null || open !== null) history.replaceState(null, "", location.pathname + location.search);
  if (token !== null) sessionStorage.setItem(STORED_TOKEN, token);
  return { token: token ?? sessionStorage.getItem(STORED_TOKEN), open };
}
