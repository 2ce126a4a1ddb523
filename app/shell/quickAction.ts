/**
 * "Open in RLX Workbench" among Finder's Quick Actions and services. A service of the app itself would need a provider object in
 * Objective-C, for which Electron has no interface (electron/electron#8394): an NSServices entry in Info.plist would be a menu item
 * that fails. A workflow in the person's own Library/Services needs none: it hands the chosen files to `open`, and they come here
 * as those of Open With do. It is added and removed only when the person says so.
 */
import { execFile } from "node:child_process";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** `appId` of electron-builder.yml. */
export const BUNDLE_ID = "org.rlx.workbench";
const TITLE = "Open in RLX Workbench";

export interface QuickAction {
  readonly isAdded: () => Promise<boolean>;
  readonly add: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** `home`: of the person. `announce` tells the system that its services changed; without, it notices at the next login. */
export function createQuickAction(home: string, announce: () => Promise<void> = updateServices): QuickAction {
  const services = join(home, "Library", "Services");
  const bundle = join(services, `${TITLE}.workflow`);
  const isAdded = (): Promise<boolean> =>
    access(bundle).then(
      () => true,
      () => false,
    );
  return {
    isAdded,
    async add() {
      const part = `${bundle}.part`;
      await rm(part, { recursive: true, force: true });
      await mkdir(join(part, "Contents"), { recursive: true });
      await writeFile(join(part, "Contents", "Info.plist"), plist(INFO));
      await writeFile(join(part, "Contents", "document.wflow"), plist(WORKFLOW));
      await rm(bundle, { recursive: true, force: true });
      await rename(part, bundle);
      await announce();
    },
    async remove() {
      await rm(bundle, { recursive: true, force: true });
      await announce();
    },
  };
}

const updateServices = (): Promise<void> =>
  new Promise((resolve) => {
    // What it answers changes nothing here: the entry is there from the next login on.
    execFile("/System/Library/CoreServices/pbs", ["-update"], () => resolve());
  });

const INFO = {
  NSServices: [
    {
      NSMenuItem: { default: TITLE },
      NSMessage: "runWorkflowAsService",
      NSRequiredContext: { NSApplicationIdentifier: "com.apple.finder" },
      // Files of models have no type of the system's own, and a folder may be a model.
      NSSendFileTypes: ["public.item", "public.folder"],
    },
  ],
};

/** Files come as arguments, as whole paths: none is taken for an option. */
const AS_ARGUMENTS = 1;
const ACTION = "/System/Library/Automator/Run Shell Script.action";

/** As Automator writes one action "Run Shell Script" that receives files. */
const WORKFLOW = {
  AMApplicationBuild: "523",
  AMApplicationVersion: "2.10",
  AMDocumentVersion: "2",
  actions: [
    {
      action: {
        AMAccepts: { Container: "List", Optional: true, Types: ["com.apple.cocoa.path"] },
        AMActionVersion: "2.0.3",
        AMApplication: ["Automator"],
        AMProvides: { Container: "List", Types: ["com.apple.cocoa.string"] },
        ActionBundlePath: ACTION,
        ActionName: "Run Shell Script",
        ActionParameters: {
          COMMAND_STRING: `/usr/bin/open -b ${BUNDLE_ID} "$@"`,
          CheckedForUserDefaultShell: true,
          inputMethod: AS_ARGUMENTS,
          shell: "/bin/zsh",
          source: "",
        },
        BundleIdentifier: "com.apple.RunShellScript",
        CFBundleVersion: "2.0.3",
        "Class Name": "RunShellScriptAction",
        InputUUID: "8F0A5D0B-6C0B-4B5E-9A52-3D0E7B0C1A11",
        OutputUUID: "1C2D3E4F-5A6B-4C7D-8E9F-0A1B2C3D4E22",
        UUID: "5E6F7A8B-9C0D-4E1F-A2B3-C4D5E6F7A833",
        UnlocalizedApplications: ["Automator"],
      },
    },
  ],
  connectors: {},
  workflowMetaData: {
    serviceInputTypeIdentifier: "com.apple.Automator.fileSystemObject",
    serviceOutputTypeIdentifier: "com.apple.Automator.nothing",
    serviceProcessesInput: 0,
    workflowTypeIdentifier: "com.apple.Automator.servicesMenu",
  },
};

type PlistValue = string | number | boolean | readonly PlistValue[] | { readonly [key: string]: PlistValue };

const plist = (value: PlistValue): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<plist version="1.0">${element(value)}</plist>\n`,
  ].join("\n");

function element(value: PlistValue): string {
  if (typeof value === "string") return `<string>${escaped(value)}</string>`;
  if (typeof value === "number") return `<integer>${value}</integer>`;
  if (typeof value === "boolean") return value ? "<true/>" : "<false/>";
  if (isList(value)) return `<array>${value.map(element).join("")}</array>`;
  const entries = Object.entries(value).map(([key, each]) => `<key>${escaped(key)}</key>${element(each)}`);
  return `<dict>${entries.join("")}</dict>`;
}

const isList = (value: object): value is readonly PlistValue[] => Array.isArray(value);

const escaped = (text: string): string =>
  text.replace(/[&<>]/gu, (sign) => (sign === "&" ? "&amp;" : sign === "<" ? "&lt;" : "&gt;"));
