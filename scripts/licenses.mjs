// Licence texts of everything bundled: a Vite plugin writes those of each bundle beside it, and the window gets all of them.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const LICENSES_FILE = "third-party-licenses.txt";
/** In the window's folder: our licence, the notice, and the texts of every bundle. The About dialog reads it. */
export const ALL_LICENSES_FILE = "licenses.txt";
const licenseName = /^(licen[cs]e|copying|notice|thirdpartynotices)([.-].*)?$/i;

/** The folder of the package that holds a module, or undefined for our own code and virtual modules. */
export function packageFolder(id) {
  const path = id.replace(/^\0/, "").replace(/\?.*$/, "");
  const found = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(path);
  return found?.[1];
}

/** Name, version, licence and text of one package. A package without a text is named with what it declares. */
export function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder)
    .filter((file) => licenseName.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  return { name, version, license: license ?? "no licence declared", text: texts.join("\n\n") };
}

const line = "-".repeat(80);
export function licensesText(folders) {
  const packages = folders.map(licenseOf).sort((a, b) => a.name.localeCompare(b.name, "en"));
  return packages
    .map(({ name, version, license, text }) =>
      [
        line,
        `${name} ${version} (${license})`,
        line,
        text || `Its package declares ${license} and has no text.`,
        "",
      ].join("\n"),
    )
    .join("\n");
}

/** Each package once, whichever of the texts name it. */
export function mergeLicenses(texts) {
  const starts = new RegExp(`^(?=${line}\n.+\n${line}$)`, "m");
  const parts = new Set(texts.flatMap((text) => text.split(starts)).map((part) => part.trim()));
  const nameOf = (part) => part.split("\n")[1] ?? "";
  return [...parts]
    .filter((part) => part !== "")
    .sort((a, b) => nameOf(a).localeCompare(nameOf(b), "en"))
    .join("\n\n");
}

export function writeAllLicenses(root) {
  const own = ["LICENSE", "NOTICE"].map((name) => readFileSync(join(root, name), "utf8").trim());
  const bundled = readdirSync(join(root, "out"))
    .map((program) => join(root, "out", program, LICENSES_FILE))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, "utf8"));
  const text = [...own, mergeLicenses(bundled)].join("\n\n");
  writeFileSync(join(root, "out", "renderer", ALL_LICENSES_FILE), `${text}\n`);
}

/**
 * Adds the packages of each bundle to `packages`; `write`: puts the texts of all of them beside the bundle. A page and
 * its workers are bundles of their own that share one set: only the page writes, after its workers.
 */
export function licensesPlugin({ packages = /** @type {Set<string>} */ (new Set()), write = true } = {}) {
  /** @type {import("vite").Plugin} */
  const plugin = {
    name: "third-party-licenses",
    generateBundle(_options, bundle) {
      for (const output of Object.values(bundle)) {
        for (const id of output.type === "chunk" ? Object.keys(output.modules) : []) {
          const folder = packageFolder(id);
          if (folder && existsSync(join(folder, "package.json"))) packages.add(folder);
        }
      }
      if (write) this.emitFile({ type: "asset", fileName: LICENSES_FILE, source: licensesText([...packages]) });
    },
  };
  return plugin;
}
