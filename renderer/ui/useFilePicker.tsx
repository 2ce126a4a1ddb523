/** A file that is chosen behind a button of ours: the system's dialog, without the system's field. */
import type { ReactNode } from "react";
import { useRef } from "react";

interface FilePickerOptions {
  /** What is chosen, for screen readers. */
  readonly label: string;
  /** Endings and types; any file without it. */
  readonly accept?: string;
  readonly multiple?: boolean;
  readonly onFiles: (files: readonly [File, ...File[]]) => void;
}

interface FilePicker {
  /** Stands anywhere and is not seen. */
  readonly input: ReactNode;
  readonly open: () => void;
}

export function useFilePicker({ label, accept, multiple = false, onFiles }: FilePickerOptions): FilePicker {
  const field = useRef<HTMLInputElement>(null);
  const input = (
    <input
      ref={field}
      type="file"
      hidden
      multiple={multiple}
      accept={accept}
      aria-label={label}
      onChange={({ target }) => {
        const [first, ...rest] = target.files ?? [];
        if (first !== undefined) onFiles([first, ...rest]);
        // The same file can be chosen again.
        target.value = "";
      }}
    />
  );
  return { input, open: () => field.current?.click() };
}
