/** A text in a new file that an option names. */
import { writeFile } from "node:fs/promises";
import { WorkbenchError } from "../../diagnostics/errors.ts";

export async function writeNewText(option: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST" && code !== "ENOENT") throw error;
    const what = code === "EEXIST" ? "a file that is there" : "a folder that is not there";
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] ${option}: got ${path}, ${what}, expected a new file`, {
      hint: "Choose another name, or remove the file first.",
    });
  }
}
