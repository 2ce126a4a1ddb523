/**
 * What the address of the page says: a ticket for the server's token, and what to show (session/address.ts). Both stand in the
 * fragment, which no server sees; the ticket is removed from the address bar. The token stays in this tab's memory, so that a
 * reload needs no new ticket.
 */
import { SESSION_PATH, TICKET_FRAGMENT_KEY } from "../../main/contract/transport.ts";
import type { Address } from "../session/address.ts";
import { addressText, readAddress } from "../session/address.ts";

export interface StartParameters {
  readonly token: string | null;
  readonly address: Address;
}

export const readTicket = (hash: string): string | null =>
  new URLSearchParams(hash.replace(/^#/u, "")).get(TICKET_FRAGMENT_KEY);

const STORED_TOKEN = "rlx.token";

/** The token for a ticket; null where the server does not take the ticket any more. */
async function exchange(ticket: string): Promise<string | null> {
  const response = await fetch(SESSION_PATH, { method: "POST", body: ticket });
  return response.ok ? response.text() : null;
}

export async function takeStartParameters(): Promise<StartParameters> {
  const ticket = readTicket(location.hash);
  const address = readAddress(location.hash);
  if (ticket !== null) history.replaceState(null, "", location.pathname + location.search + addressText(address));
  const fresh = ticket === null ? null : await exchange(ticket).catch(() => null);
  if (fresh !== null) sessionStorage.setItem(STORED_TOKEN, fresh);
  return { token: fresh ?? sessionStorage.getItem(STORED_TOKEN), address };
}
