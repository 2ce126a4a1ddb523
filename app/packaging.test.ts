// What electron-builder.yml promises of the packaged app: its fuses, what it needs and what lies beside its archive.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const require = createRequire(import.meta.url);
/** A YAML reader is a dependency of electron-builder's own library. */
const builder = createRequire(require.resolve("electron-builder/package.json"));
const yaml = createRequire(builder.resolve("app-builder-lib/package.json"))("js-yaml") as {
  load(text: string): Shipped;
};

interface Resource {
  readonly from: string;
  readonly to: string;
}
interface Shipped {
  readonly asar: unknown;
  readonly npmRebuild: unknown;
  readonly files: readonly string[];
  readonly electronFuses: unknown;
  readonly beforePack: unknown;
  readonly extraResources: readonly Resource[];
  readonly fileAssociations: readonly unknown[];
  readonly publish: unknown;
  readonly mac: Readonly<Record<string, unknown>>;
}
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const shipped = yaml.load(read("electron-builder.yml"));
const pairs = (resources: readonly Resource[]): readonly string[] => resources.map(({ from, to }) => `${from} > ${to}`);

describe("the packaged app", () => {
  it("is no Node for others, and runs only the program in its archive", () => {
    expect(shipped.asar).toBe(true);
    expect(shipped.electronFuses).toEqual({
      runAsNode: false,
      enableNodeOptionsEnvironmentVariable: false,
      enableNodeCliInspectArguments: false,
      enableEmbeddedAsarIntegrityValidation: true,
      onlyLoadAppFromAsar: true,
      grantFileProtocolExtraPrivileges: false,
      enableCookieEncryption: false,
      resetAdHocDarwinSignature: true,
    });
  });

  it("holds what was built and nothing of node_modules", () => {
    expect(shipped.files).toEqual(["out/**", "!out/library/**", "package.json", "!node_modules/**", "!**/*.map"]);
    expect(shipped.npmRebuild).toBe(false);
  });

  it("has the native engine and the sample model beside the archive", () => {
    expect(shipped.beforePack).toBe("./scripts/stageNative.mjs");
    expect(pairs(shipped.extraResources)).toEqual([
      "native/prebuilt/${os}-${arch} > native",
      ". > .",
      "assets/models > models",
    ]);
    expect(existsSync(join(root, "assets/models/rlx-sample.gguf"))).toBe(true);
  });

  it("says on a Mac what it needs, and is hardened", () => {
    expect(shipped.mac).toMatchObject({
      hardenedRuntime: true,
      minimumSystemVersion: "14.0",
      entitlements: "assets/entitlements.mac.plist",
      entitlementsInherit: "assets/entitlements.mac.plist",
    });
    expect(shipped.mac["notarize"]).toBe(true);
    expect(shipped.mac["target"]).toEqual([
      { target: "dmg", arch: ["arm64", "x64"] },
      { target: "zip", arch: ["arm64", "x64"] },
    ]);
  });

  it("knows where updates come from", () => {
    expect(shipped.publish).toMatchObject({ provider: "github" });
  });

  it("takes no exception from the hardened runtime but the two it needs", () => {
    const keys = [...read("assets/entitlements.mac.plist").matchAll(/<key>(.*?)<\/key>/g)].map(([, key]) => key);
    expect(keys).toEqual(["com.apple.security.cs.allow-jit", "com.apple.security.cs.disable-library-validation"]);
  });

  it("is offered for GGUF files beside what the user chose", () => {
    expect(shipped.fileAssociations).toMatchObject([
      { ext: "gguf", role: "Viewer", rank: "Alternate" },
      { ext: "safetensors", role: "Viewer", rank: "Alternate" },
      { ext: "rlxsession", role: "Editor", rank: "Owner" },
    ]);
  });
});
