/** Gives a text to the person as a file: the browser's own download, also inside the shell. */
export function saveText(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has taken hold of it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
