/**
 * Tickets of `rlx serve`: each lets one page have the token, once. What was used, or printed long ago and pushed out by
 * newer ones, is worth nothing.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";

export interface Tickets {
  issue(): string;
  /** True for a ticket that was issued and not used; it is used now. */
  redeem(ticket: string): boolean;
}

/** More addresses than anyone has open browsers. */
const MOST = 64;

export const newSecret = (): string => randomBytes(24).toString("base64url");

export function sameSecret(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}

export function createTickets(): Tickets {
  let valid: readonly string[] = [];
  return {
    issue() {
      const ticket = newSecret();
      valid = [...valid, ticket].slice(-MOST);
      return ticket;
    },
    redeem(ticket) {
      const left = valid.filter((known) => !sameSecret(known, ticket));
      const found = left.length < valid.length;
      valid = left;
      return found;
    },
  };
}
