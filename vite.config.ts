// One build per program, chosen by the mode: `vite build --mode renderer`. scripts/build.mjs runs those that are stale.
//   renderer  the window                     out/renderer/index.html
//   engine    the engine's own process       out/engine/index.js
//   cli       rlx, heavy commands as chunks  out/cli/rlx.js; out/cli/commandLine.js runs a command line in this process
//   shell     Electron's main process        out/main/index.js
//   preload   one CommonJS file              out/preload/index.cjs
//   library   its two doors                  out/library/index.js, out/library/node.js
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import type { Plugin, UserConfig } from "vite";
import { licensesPlugin } from "./scripts/licenses.mjs";

interface NodeTarget {
  /** One file, or several that share chunks: by the names of what they become. */
  readonly entry: string | { readonly [name: string]: string };
  readonly file: string;
  readonly folder: string;
  /** The oldest Node that runs it: ours for the CLI and the engine, Electron's for the rest. */
  readonly node: "node20" | "node24";
  readonly format?: "es" | "cjs";
}

const NODE_TARGETS: { readonly [mode: string]: NodeTarget } = {
  engine: { entry: "main/node/engineEntry.ts", file: "index.js", folder: "out/engine", node: "node20" },
  cli: {
    entry: { rlx: "main/node/cli/entry.ts", commandLine: "main/node/cli/main.ts" },
    file: "[name].js",
    folder: "out/cli",
    node: "node20",
  },
  shell: { entry: "app/shell/index.ts", file: "index.js", folder: "out/main", node: "node24" },
  preload: {
    entry: "app/preload/index.ts",
    file: "index.cjs",
    folder: "out/preload",
    node: "node24",
    format: "cjs",
  },
  library: {
    entry: { index: "main/library/index.ts", node: "main/node/library/index.ts" },
    file: "[name].js",
    folder: "out/library",
    node: "node20",
  },
};

/**
 * The bundler's own helpers come with an import of node:module where any module is CommonJS, and it stays where nothing
 * uses it. A chunk of the portable door may not have it.
 */
const withoutUnusedImport: Plugin = {
  name: "without-unused-import",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === "chunk") chunk.code = chunk.code.replace(/^import "node:module";\n/, "");
  },
};

/** Everything is bundled, so that the packaged app carries no node_modules; only what the runtime brings stays outside. */
function nodeConfig({ entry, file, folder, node, format = "es" }: NodeTarget): UserConfig {
  const buildHash = process.env["RLX_BUILD_HASH"];
  return {
    // scripts/build.mjs computes it; a build without it has no compile cache (main/node/buildHash.ts).
    plugins: [licensesPlugin(), withoutUnusedImport],
    define: buildHash === undefined ? {} : { RLX_BUILD_HASH: JSON.stringify(buildHash) },
    build: {
      ssr: typeof entry === "string" ? entry : true,
      outDir: folder,
      emptyOutDir: true,
      target: node,
      minify: false,
      sourcemap: false,
      rolldownOptions: {
        ...(typeof entry === "string" ? {} : { input: { ...entry } }),
        external: ["electron"],
        output: { format, entryFileNames: file, chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
    ssr: { noExternal: true, external: ["electron"], target: "node" },
  };
}

function rendererConfig(): UserConfig {
  const packages = new Set<string>();
  return {
    root: "renderer",
    // Relative, so that the page works under Electron's own protocol and below any path of a server.
    base: "./",
    plugins: [react(), licensesPlugin({ packages })],
    build: {
      outDir: "../out/renderer",
      emptyOutDir: true,
      target: "es2022",
      // The content security policy allows no data: scripts or fonts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 6000,
    },
    worker: { format: "es", plugins: () => [licensesPlugin({ packages, write: false })] },
  };
}

export default defineConfig(({ mode }) => {
  const target = NODE_TARGETS[mode];
  return { clearScreen: false, logLevel: "warn", ...(target ? nodeConfig(target) : rendererConfig()) };
});
