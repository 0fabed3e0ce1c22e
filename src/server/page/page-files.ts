import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The built page: a document and a few files whose names contain a hash of their content. All of them are read into
// memory once, so that no request can name a path.

export interface PageFile {
  readonly type: string;
  /** Text is compressed for clients that accept it. */
  readonly body: string | Uint8Array;
}

export interface PageFiles {
  readonly document: string;
  /** By path below the root of the page, such as `assets/index-1a2b.js`. */
  readonly files: ReadonlyMap<string, PageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const DOCUMENT = 'index.html';

/** Undefined when the page was not built. */
export function readPageFiles(folder: string | undefined = builtPage()): PageFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, DOCUMENT))) return undefined;
  const files = new Map<string, PageFile>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    files.set(name.replaceAll('\\', '/'), { type, body: readFileSync(join(folder, name), 'utf8') });
  }
  return { document: readFileSync(join(folder, DOCUMENT), 'utf8'), files };
}

/** The page stands in `web/dist` of this package, wherever in the package this file is. */
function builtPage(): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (dirname(folder) !== folder) {
    const page = join(folder, 'web', 'dist');
    if (existsSync(join(page, DOCUMENT))) return page;
    folder = dirname(folder);
  }
  return undefined;
}
