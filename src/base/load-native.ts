import { createRequire } from 'node:module';
import { QuipuError } from './errors.ts';

/**
 * Loads a package that a newer Node has no need of, and that therefore may not be installed. `npm install` builds or
 * fetches its native part, and may have been told not to; `start` fails then, if loading did not.
 */
export function loadNative<M, T>(name: string, start: (module: M) => T): T {
  try {
    return start(createRequire(import.meta.url)(name) as M);
  } catch (cause) {
    throw new QuipuError(
      'UNSUPPORTED',
      `Node ${process.versions.node} has neither SQLite nor zstd that Quipu can use; run "npm install better-sqlite3 zstd-napi", or use Node 22.16 or newer`,
      { what: name, found: (cause as Error).message },
      { cause },
    );
  }
}
