/** Names of the few messages between preload and shell. The engine's contract does not pass here: it has its own port. */
export const CHANNELS = {
  requestPort: "shell:request-port",
  port: "shell:port",
  engineLost: "shell:engine-lost",
  openDialog: "shell:open-dialog",
  saveDialog: "shell:save-dialog",
  folderDialog: "shell:folder-dialog",
  notify: "shell:notify",
  showInFolder: "shell:show-in-folder",
  setDocument: "shell:set-document",
  command: "shell:command",
  openFile: "shell:open-file",
  openSettings: "shell:open-settings",
  startDrag: "shell:start-drag",
  stageFile: "shell:stage-file",
  share: "shell:share",
  finderAction: "shell:finder-action",
} as const;
