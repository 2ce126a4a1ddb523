/** The bound commands for everything that offers one. */
import { createContext, useContext } from "react";
import { invariant } from "../../main/diagnostics/errors.ts";
import type { CommandTable } from "./commands.ts";

export const CommandsContext = createContext<CommandTable | null>(null);

export function useCommands(): CommandTable {
  const commands = useContext(CommandsContext);
  invariant(commands, "a component outside of the commands' provider");
  return commands;
}
