import { expect, it } from "vitest";
import { createTickets } from "./tickets.ts";

it("a ticket works once, and only one that was issued", () => {
  const tickets = createTickets();
  const [a, b] = [tickets.issue(), tickets.issue()];
  expect(tickets.redeem(`${a}x`)).toBe(false);
  expect(tickets.redeem("")).toBe(false);
  expect(tickets.redeem(a)).toBe(true);
  expect(tickets.redeem(a)).toBe(false);
  expect(tickets.redeem(b)).toBe(true);
});

it("old tickets are pushed out by new ones", () => {
  const tickets = createTickets();
  const first = tickets.issue();
  const others = Array.from({ length: 64 }, () => tickets.issue());
  expect(tickets.redeem(first)).toBe(false);
  expect(others.every((ticket) => tickets.redeem(ticket))).toBe(true);
});
