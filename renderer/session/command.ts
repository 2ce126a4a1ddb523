/** The command line's word for what the window just did, so that it can be repeated and scripted. */
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";

export type CommandLine =
  | { readonly kind: "inspect" }
  | { readonly kind: "graph"; readonly phase: Phase; readonly target: TargetSpec }
  | { readonly kind: "route"; readonly phase: Phase; readonly target: TargetSpec }
  | { readonly kind: "passes"; readonly phase: Phase; readonly target: TargetSpec }
  | { readonly kind: "chat"; readonly temperature: number; readonly seed: number | null }
  | {
      readonly kind: "run";
      readonly prompt: string;
      readonly temperature: number;
      readonly seed: number | null;
      readonly maxTokens: number;
    }
  | { readonly kind: "bench"; readonly promptTokens: number; readonly generateTokens: number; readonly repeats: number }
  | { readonly kind: "profile"; readonly promptTokens: number; readonly generateTokens: number }
  | { readonly kind: "export"; readonly target: TargetSpec; readonly path: string }
  | { readonly kind: "doctor" };

/** Safe in a POSIX shell: single quotes unless every character is harmless. */
export function quote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function targetFlags({ chip, os, units, profile, context }: TargetSpec): readonly string[] {
  return ["--chip", chip, "--os", os, "--units", units, "--profile", profile, "--context", String(context)];
}

/** `argument`: what stands for the model, as the overview says; null when the command line cannot reach it. */
export function commandText(command: CommandLine, argument: string | null): string | null {
  if (command.kind === "doctor") return "rlx doctor";
  if (argument === null) return null;
  const seed = (value: number | null): readonly string[] => (value === null ? [] : ["--seed", String(value)]);
  const rest = (): readonly string[] => {
    switch (command.kind) {
      case "inspect":
        return [];
      case "graph":
      case "route":
      case "passes":
        return ["--phase", command.phase, ...targetFlags(command.target)];
      case "chat":
        return ["--temp", String(command.temperature), ...seed(command.seed)];
      case "run":
        return [
          "--prompt",
          quote(command.prompt),
          "--temp",
          String(command.temperature),
          ...seed(command.seed),
          "-n",
          String(command.maxTokens),
        ];
      case "bench":
        return [
          "--pp",
          String(command.promptTokens),
          "--tg",
          String(command.generateTokens),
          "--repeat",
          String(command.repeats),
        ];
      case "profile":
        return ["--pp", String(command.promptTokens), "--tg", String(command.generateTokens)];
      case "export":
        return [...targetFlags(command.target), "--output", quote(command.path)];
    }
  };
  const name = command.kind === "export" ? "compile" : command.kind;
  return ["rlx", name, argument, ...rest()].join(" ");
}
