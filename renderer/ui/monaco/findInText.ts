/** The search in the text that is shown: the editor's own, opened by the window's command. */
let open: (() => void) | null = null;

/** Until what it gives is called, the search opens here. */
export function offerFind(find: () => void): () => void {
  open = find;
  return () => {
    if (open === find) open = null;
  };
}

/** False where no text is shown. */
export function findInText(): boolean {
  if (open === null) return false;
  open();
  return true;
}
