/**
 * Files on their way out of the window. What a page made, such as a report or a picture, is written to a folder of this run first:
 * the system drags and shares files, not contents.
 */
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NativeImage } from "electron";
import { nativeImage } from "electron";

/** What the window makes; no name that the system would run, hide or take for a folder. */
const FILE_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,119}\.(?:html|json|md|png|svg)$/u;

export const isFileName = (value: unknown): value is string => typeof value === "string" && FILE_NAME.test(value);

export interface Stage {
  /** Answers with the path. Each file has a folder of its own, so that two may have one name. */
  readonly add: (name: string, content: Uint8Array) => Promise<string>;
  /** At the end of the app. */
  readonly clear: () => void;
}

export function createStage(temporary: string): Stage {
  let folder: Promise<string> | undefined;
  let made: string | undefined;
  let count = 0;
  return {
    async add(name, content) {
      folder ??= mkdtemp(join(temporary, "rlx-out-"));
      made = await folder;
      count += 1;
      const own = join(made, String(count));
      await mkdir(own);
      const path = join(own, name);
      await writeFile(path, content);
      return path;
    },
    clear() {
      if (made !== undefined) rmSync(made, { recursive: true, force: true });
    },
  };
}

/** Pixels, twice as many as points. */
const SIDE = 64;
const SHEET = { left: 12, right: 52, top: 6, bottom: 58, fold: 14 } as const;

/** A sheet of paper with a folded corner: a Mac drags nothing without a picture. */
export function dragIcon(): NativeImage {
  const pixels = Buffer.alloc(SIDE * SIDE * 4);
  for (let y = SHEET.top; y < SHEET.bottom; y += 1)
    for (let x = SHEET.left; x < SHEET.right; x += 1) {
      // Distance to the diagonal of the folded corner: negative is outside the sheet.
      const inside = SHEET.right - x + (y - SHEET.top) - SHEET.fold;
      if (inside < 0) continue;
      const isEdge =
        x < SHEET.left + 2 || x >= SHEET.right - 2 || y < SHEET.top + 2 || y >= SHEET.bottom - 2 || inside < 3;
      pixels.fill(isEdge ? 0x80 : 0xf4, (y * SIDE + x) * 4, (y * SIDE + x) * 4 + 3);
      pixels[(y * SIDE + x) * 4 + 3] = 0xff;
    }
  return nativeImage.createFromBitmap(pixels, { width: SIDE, height: SIDE, scaleFactor: 2 });
}
