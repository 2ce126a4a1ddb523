/** From keys to commands: one listener for the window, made from the registry. */
import type { CommandDefinition, CommandId } from "../../main/contract/commands.ts";
import { COMMANDS } from "../../main/contract/commands.ts";

export interface KeyPress {
  readonly key: string;
  readonly code: string;
  readonly metaKey: boolean;
  readonly ctrlKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

export interface KeyContext {
  readonly mac: boolean;
  /** Running inside the shell: keys that a browser keeps for itself are ours there. */
  readonly shell: boolean;
  readonly canvasFocused: boolean;
  readonly typing: boolean;
}

interface Chord {
  readonly mod: boolean;
  readonly shift: boolean;
  readonly alt: boolean;
  readonly key: string;
}

export function parseChord(keys: string): Chord {
  const parts = keys.split(/(?<=.)\+/);
  return {
    mod: parts.includes("Mod"),
    shift: parts.includes("Shift"),
    alt: parts.includes("Alt"),
    key: (parts.at(-1) ?? "").toLowerCase(),
  };
}

/** The key itself, whatever Shift and Alt make of it: "[" stays "[" with Shift, "3" stays "3" with Option. */
function plainKey({ key, code }: KeyPress): string {
  const named: { readonly [code: string]: string } = {
    BracketLeft: "[",
    BracketRight: "]",
    Slash: "/",
    Period: ".",
    Space: "space",
  };
  const match = /^(?:Key([A-Z])|Digit(\d))$/.exec(code);
  return (match?.[1] ?? match?.[2] ?? named[code] ?? key).toLowerCase();
}

function matches(chord: Chord, press: KeyPress, mac: boolean): boolean {
  const mod = mac ? press.metaKey : press.ctrlKey;
  const other = mac ? press.ctrlKey : press.metaKey;
  if (other || chord.mod !== mod || chord.alt !== press.altKey) return false;
  // "+" needs Shift on most keyboards: what counts is the character.
  if (chord.key === "+" || chord.key === "-")
    return press.key === chord.key || (chord.key === "+" && press.key === "=");
  return chord.shift === press.shiftKey && chord.key === plainKey(press);
}

/** The keys that work here: the first of some is a browser's own (reload, private window); the others are ours everywhere. */
export const boundKeys = ({ keys, browser }: CommandDefinition, shell: boolean): readonly string[] =>
  shell || browser ? keys : keys.slice(1);

export function commandFor(press: KeyPress, context: KeyContext): CommandId | null {
  for (const command of COMMANDS) {
    const { id, scope }: CommandDefinition & { readonly id: CommandId } = command;
    if (scope === "graph" && (!context.canvasFocused || context.typing)) continue;
    if (boundKeys(command, context.shell).some((each) => matches(parseChord(each), press, context.mac))) return id;
  }
  return null;
}

export const isMac = (platform: string): boolean => /^(mac|darwin|iphone|ipad)/i.test(platform);
