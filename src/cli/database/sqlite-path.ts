import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** `sqlite:`, `file:`, or no scheme at all; a single letter with a colon is a drive of Windows. */
export function isSqliteUrl(url: string): boolean {
  return /^(sqlite|file):/i.test(url) || !/^[a-z][a-z\d+.-]+:/i.test(url);
}

/**
 * The file's path, of `sqlite:app.db`, `sqlite:///srv/app.db`, `file:app.db?mode=ro`, `file:///srv/app.db` or a
 * path as it is; from `folder` where it is relative.
 *
 * @throws URIError or TypeError for a URL that is none.
 */
export function sqlitePath(url: string, folder: string): string {
  if (/^file:\/\//i.test(url)) return fileURLToPath(withoutQuery(url));
  if (/^file:/i.test(url)) return resolve(folder, decodeURIComponent(withoutQuery(url).slice(5)));
  return resolve(folder, url.replace(/^sqlite:(\/\/)?/i, ""));
}

/** A database that no file holds. */
export function isInMemory(url: string): boolean {
  return /^(sqlite:(\/\/)?|file:)?(:memory:|$)/i.test(url) || /^file:.*[?&]mode=memory/i.test(url);
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, "");
}
