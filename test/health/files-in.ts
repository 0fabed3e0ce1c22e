import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Every file of a folder, with its content. */
export function* filesIn(folder: string): Generator<readonly [string, Uint8Array]> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stat = statSync(path);
    if (stat.isDirectory()) yield* filesIn(path);
    // The socket that others come in by holds nothing.
    else if (stat.isFile()) yield [path.slice(folder.length), readFileSync(path)];
  }
}
