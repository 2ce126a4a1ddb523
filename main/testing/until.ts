/** Polls a condition until it holds. Fails after `ms`. */
export async function until(holds: () => boolean, ms = 4000): Promise<void> {
  for (const end = Date.now() + ms; !holds();) {
    if (Date.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
