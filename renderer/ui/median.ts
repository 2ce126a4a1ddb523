/** The middle value, or the mean of the middle two; undefined of nothing. */
export function median(values: readonly number[]): number | undefined {
  const order = [...values].sort((a, b) => a - b);
  const middle = order.length >> 1;
  const high = order[middle];
  const low = order[middle - 1];
  return order.length % 2 === 1 || high === undefined || low === undefined ? high : (low + high) / 2;
}
