/** A time as PostgreSQL reads it: ISO in UTC, with the years that ISO writes with a sign as it has them. */
export function timeText(date: Date): string {
  const iso = date.toISOString();
  const year = date.getUTCFullYear();
  if (year > 0 && year <= 9999) return iso;
  const rest = iso.slice(iso.indexOf("-", 1));
  if (year > 9999) return `${year}${rest}`;
  return `${String(1 - year).padStart(4, "0")}${rest} BC`;
}
