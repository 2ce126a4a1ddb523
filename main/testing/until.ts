/** Waits for what other code does in its own time: looks until it holds, and fails where it does not in `ms`. */
export async function until(holds: () => boolean, ms = 4000): Promise<void> {
  for (const end = Date.now() + ms; !holds();) {
    if (Date.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
