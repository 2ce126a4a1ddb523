/**
 * Tickets of `rlx serve`: each gives one page the token, once. A used ticket is invalid, and so is one
 * that newer tickets have pushed out.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";

export interface Tickets {
  issue(): string;
  /** Uses up a ticket. True if it was issued and unused. */
  redeem(ticket: string): boolean;
}

/** Most open tickets. */
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
