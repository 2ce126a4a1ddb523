/**
 * What the address of the page says: a ticket for the server's token, and what to open at once. Both stand in the
 * fragment, which no server sees, and are removed from the address bar. The token stays in this tab's memory, so that a
 * reload needs no new ticket.
 */
import { OPEN_FRAGMENT_KEY, SESSION_PATH, TICKET_FRAGMENT_KEY } from "../../main/contract/transport.ts";

export interface StartParameters {
  readonly token: string | null;
  readonly open: string | null;
}

export function readFragment(hash: string): { readonly ticket: string | null; readonly open: string | null } {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  return { ticket: parameters.get(TICKET_FRAGMENT_KEY), open: parameters.get(OPEN_FRAGMENT_KEY) };
}

const STORED_TOKEN = "rlx.token";

/** The token for a ticket; null where the server does not take the ticket any more. */
async function exchange(ticket: string): Promise<string | null> {
  const response = await fetch(SESSION_PATH, { method: "POST", body: ticket });
  return response.ok ? response.text() : null;
}

export async function takeStartParameters(): Promise<StartParameters> {
  const { ticket, open } = readFragment(location.hash);
  if (ticket !== null || open !== null) history.replaceState(null, "", location.pathname + location.search);
  const fresh = ticket === null ? null : await exchange(ticket).catch(() => null);
  if (fresh !== null) sessionStorage.setItem(STORED_TOKEN, fresh);
  return { token: fresh ?? sessionStorage.getItem(STORED_TOKEN), open };
}
