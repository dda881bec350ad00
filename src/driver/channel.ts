/** PostgreSQL cuts longer names off, and what is notified then reaches nobody. */
const MOST_BYTES = 63;

/**
 * A channel's name as an identifier of PostgreSQL, whatever is in it.
 *
 * @throws RangeError for a name that PostgreSQL cannot have.
 */
export function quoteChannel(channel: string): string {
  const bytes = Buffer.byteLength(channel);
  if (bytes === 0 || bytes > MOST_BYTES || channel.includes("\0")) {
    throw new RangeError(
      `the channel ${JSON.stringify(channel.slice(0, 80))} takes 1 to ${MOST_BYTES} bytes and no NUL`,
    );
  }
  return `"${channel.replaceAll('"', '""')}"`;
}
