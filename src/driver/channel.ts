/** A channel's name as an identifier of PostgreSQL, whatever is in it. */
export function quoteChannel(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`;
}
