// A file's way out of the window: none in a browser, and each of its kinds in a shell.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { createRecordedEngine } from "../engine/recorded/replay.ts";
import { StoreProvider } from "../session/context.tsx";
import { createWorkbenchStore } from "../shell/store.ts";
import { inPlace } from "../testing/sample.ts";
import { FileOut } from "./FileOut.tsx";

const storeIn = (shell: Partial<ShellBridge> | null) =>
  createWorkbenchStore(createRecordedEngine().client, shell as ShellBridge | null, inPlace);

function html(shell: Partial<ShellBridge> | null, file: Parameters<typeof FileOut>[0]["file"]): string {
  return renderToStaticMarkup(
    <StoreProvider store={storeIn(shell)}>
      <FileOut file={file} />
    </StoreProvider>,
  );
}

it("can be dragged in a shell, and shared on a Mac", () => {
  expect(html(null, { paths: ["/a.gguf"] })).toBe("");
  const one = html({ platform: "linux" }, { paths: ["/a.gguf"] });
  expect(one).toContain('data-ready="true"');
  expect(one).toContain("Drag the file to a folder");
  expect(one).not.toContain("Share");
  const made = html({ platform: "darwin" }, { name: "the report", make: async () => null });
  expect(made).toContain('data-ready="false"');
  expect(made).toContain("Share…");
});

it("gives the shell the bytes of what was made", async () => {
  const stageFile = vi.fn(async (name: string) => `/staged/${name}`);
  const { outside } = storeIn({ platform: "darwin", stageFile }).getState();
  expect(await outside?.stage("a.html", new Blob(["<p>"]))).toBe("/staged/a.html");
  expect(stageFile).toHaveBeenCalledWith("a.html", new Uint8Array([0x3c, 0x70, 0x3e]));
});
