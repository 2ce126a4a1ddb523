/**
 * The address of the window: which model, which tab, which op. It stands in the fragment, which no server sees, so that a reload,
 * back and forward, and a link find the same again.
 */
import type { Tab } from "../../main/contract/commands.ts";
import { TABS } from "../../main/contract/commands.ts";
import { OPEN_FRAGMENT_KEY } from "../../main/contract/transport.ts";
import type { Backend } from "../../main/contract/views/graph.ts";
import { backend } from "../../main/contract/views/graph.ts";
import type { Phase } from "../../main/contract/views/common.ts";
import type { OpenSource } from "./types.ts";

export interface Address {
  /** A path, or an offer with its sign; null: the first screen, or a file that was dropped. */
  readonly open: string | null;
  readonly tab: Tab | null;
  /** An op of the legal graph of that runtime in that phase. */
  readonly op: { readonly backend: Backend; readonly phase: Phase; readonly node: number } | null;
}

const OFFER = "offer:";

export const openOf = (source: OpenSource | null): string | null =>
  source === null || source.kind === "file" || source.kind === "text"
    ? null
    : source.kind === "offer"
      ? OFFER + source.id
      : source.path;

export const sourceAt = (open: string): OpenSource =>
  open.startsWith(OFFER) ? { kind: "offer", id: open.slice(OFFER.length) } : { kind: "path", path: open };

export function addressText({ open, tab, op }: Address): string {
  const parameters = new URLSearchParams();
  if (open !== null) parameters.set(OPEN_FRAGMENT_KEY, open);
  if (tab !== null) parameters.set("tab", tab);
  if (op !== null) parameters.set("op", `${op.backend}-${op.phase}-${op.node}`);
  // Paths stay readable; what would end the value is escaped.
  const text = parameters.toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  return text === "" ? "" : `#${text}`;
}

export function readAddress(hash: string): Address {
  const parameters = new URLSearchParams(hash.replace(/^#/u, ""));
  const tab = parameters.get("tab");
  const [, on, phase, node] = /^([a-z]+)-(prefill|decode)-(\d{1,9})$/u.exec(parameters.get("op") ?? "") ?? [];
  const known = backend.safeParse(on);
  return {
    open: parameters.get(OPEN_FRAGMENT_KEY) || null,
    tab: TABS.find(({ id }) => id === tab)?.id ?? null,
    op: known.success ? { backend: known.data, phase: phase as Phase, node: Number(node) } : null,
  };
}
