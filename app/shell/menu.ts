/** The menu bar, made from the window's own command list: one place for titles and shortcuts. */
import type { MenuItemConstructorOptions } from "electron";
import { accelerator, COMMANDS } from "../../main/contract/commands.ts";
import type { CommandDefinition } from "../../main/contract/commands.ts";

type MenuTitle = NonNullable<CommandDefinition["menu"]>;
const ORDER: readonly MenuTitle[] = ["File", "Edit", "View", "Navigate", "Model", "Help"];

/** Roles that the system provides, placed after our own items. */
const ROLES: Readonly<Record<MenuTitle, readonly MenuItemConstructorOptions[]>> = {
  File: [{ role: "recentDocuments", submenu: [{ role: "clearRecentDocuments" }] }, { role: "close" }],
  Edit: [
    { role: "undo" },
    { role: "redo" },
    { type: "separator" },
    { role: "cut" },
    { role: "copy" },
    { role: "paste" },
    { role: "selectAll" },
  ],
  View: [{ role: "togglefullscreen" }, { role: "toggleDevTools" }],
  Navigate: [],
  Model: [],
  Help: [],
};

/** What the shell does itself. */
export interface ShellActions {
  readonly mac: boolean;
  readonly checkForUpdates: () => void;
  readonly newWindow: () => void;
  readonly openSettings: () => void;
}

export function menuTemplate(
  send: (command: string) => void,
  { mac, checkForUpdates, newWindow, openSettings }: ShellActions,
): MenuItemConstructorOptions[] {
  const menus = ORDER.map((title): MenuItemConstructorOptions => {
    const own = (COMMANDS as readonly CommandDefinition[])
      .filter(({ menu, id }) => menu === title && !(mac ? id === SETTINGS : id === SHARE))
      .map((command) => menuItem(command, command.id === SETTINGS ? openSettings : send));
    const roles = title === "Help" ? [{ label: "Check for updates…", click: checkForUpdates }] : ROLES[title];
    const first: readonly MenuItemConstructorOptions[] =
      title === "File" ? [{ label: "New window", accelerator: "CommandOrControl+N", click: newWindow }] : [];
    return { label: title, submenu: roles.length === 0 ? own : [...first, ...own, { type: "separator" }, ...roles] };
  });
  const help = menus.pop();
  const rest: MenuItemConstructorOptions[] = [{ role: "windowMenu" }, ...(help ? [help] : [])];
  return mac ? [appMenu(openSettings), ...menus, ...rest] : [...menus, ...rest];
}

const SETTINGS = "file.settings";
/** Only a Mac has a list of ways to share. */
const SHARE = "file.share";

/** As the system makes it, with the settings where a Mac has them. */
function appMenu(openSettings: () => void): MenuItemConstructorOptions {
  const settings = (COMMANDS as readonly CommandDefinition[]).filter(({ id }) => id === SETTINGS);
  const line = { type: "separator" } as const;
  return {
    role: "appMenu",
    submenu: [
      ...[{ role: "about" } as const, line, ...settings.map((command) => menuItem(command, openSettings)), line],
      ...[{ role: "services" } as const, line],
      ...[{ role: "hide" } as const, { role: "hideOthers" } as const, { role: "unhide" } as const, line],
      { role: "quit" },
    ],
  };
}

/** The menu of the icon in the Dock. The system lists recent documents above it by itself (`addRecentDocument`). */
export function dockMenu(send: (command: string) => void, newWindow: () => void): MenuItemConstructorOptions[] {
  return [
    { label: "New window", click: newWindow },
    { label: "Open…", click: () => send("file.open") },
    { label: "Open the sample model", click: () => send("file.openSample") },
  ];
}

function menuItem(command: CommandDefinition, send: (command: string) => void): MenuItemConstructorOptions {
  const [keys] = command.keys;
  return {
    label: command.title,
    click: () => send(command.id),
    // Single keys belong to the canvas while it has the focus; the menu shows them without taking them.
    ...(keys === undefined ? {} : { accelerator: accelerator(keys), registerAccelerator: command.scope === "window" }),
  };
}
