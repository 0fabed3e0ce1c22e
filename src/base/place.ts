import { fileURLToPath } from 'node:url';

/** The ways to name a store. `unknown` is an address with a scheme that no store has. */
export type Place =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'server' }
  | { readonly kind: 'database' }
  | { readonly kind: 'unknown'; readonly scheme: string };

const SERVERS: ReadonlySet<string> = new Set(['quipu', 'quipus', 'http', 'https', 'unix']);
const DATABASES: ReadonlySet<string> = new Set(['postgres', 'postgresql']);

/**
 * Tells what `place` names: a folder (a path or `file://…`), a server or a database. Nothing else in the house asks
 * for a scheme to find that out. The address itself is parsed by whoever connects to it.
 */
export function parsePlace(place: string): Place {
  const [, name = '', slashes] = /^([a-z][a-z0-9+.-]*):(\/\/)?/i.exec(place) ?? [];
  const scheme = name.toLowerCase();
  if (SERVERS.has(scheme)) return { kind: 'server' };
  // "C:\data" is a path, and so is any other name with a colon.
  if (slashes === undefined) return { kind: 'folder', path: place };
  if (DATABASES.has(scheme)) return { kind: 'database' };
  if (scheme === 'file') return { kind: 'folder', path: fileURLToPath(place) };
  return { kind: 'unknown', scheme };
}
