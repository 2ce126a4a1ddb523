/** Writes all bytes: one write of the system may take only some of them. */
import type { FileHandle } from "node:fs/promises";

export async function writeFully(
  handle: Pick<FileHandle, "write">,
  position: number,
  bytes: Uint8Array,
): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
