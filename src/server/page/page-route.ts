import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { firstUse } from '../../base/first-use.ts';
import { noRoute, route } from '../http/exchange/route.ts';
import type { Reply, Route } from '../http/exchange/route.ts';

// The page for people. Every request that asks for HTML, and not for an address of the API, gets the same document; the
// page looks at the address itself. A client that takes anything gets it at the addresses of views only: elsewhere it is
// rather a program with a wrong address, and is told so. The document names its own root relative to the address, so a proxy may put any path in front.

/** Nothing from elsewhere, no inline code or styles. Pictures are addresses of bytes that the page holds. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' blob:`,
  `connect-src 'self'`,
  `base-uri 'self'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const SAFETY = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const API = /^\/(?:v1|healthz|metrics|openapi\.json)(?:\/|$)/;

/** True for an address that the page answers, and the API never does. */
export function isPagePath(path: string): boolean {
  return !API.test(path);
}

/** Answers every GET that no other route takes. */
export function pageRoute(read: () => PageFiles | undefined = readPageFiles): Route {
  const files = firstUse(read);
  return route.get('*', {
    name: 'page',
    summary: 'The page for people',
    needs: 'nobody',
    // The page reads the query itself.
    query: z.looseObject({}),
    answer: { what: 'The page', type: 'text/html' },
    run({ request }) {
      const [path = '/'] = (request.incoming.url ?? '/').split('?');
      const reply = isPagePath(path)
        ? answerPage(files(), path, request.header('accept'))
        : undefined;
      if (reply !== undefined) return reply;
      throw noRoute('GET', path);
    },
  });
}

const ANYTHING = '*/*';
const VIEWS = /^\/(?:(?:c|chat|w|s|q|compare)\/.+|search|store)?$/;

function isAskedFor(path: string, accept: string): boolean {
  return accept.includes('text/html') || (accept.includes(ANYTHING) && VIEWS.test(path));
}

/** Undefined where the page has nothing. Without an Accept header, a client takes anything. */
export function answerPage(
  page: PageFiles | undefined,
  path: string,
  accept: string = ANYTHING,
): Reply | undefined {
  const file = page?.files.get(path.slice(1));
  if (file !== undefined) {
    const isHashed = path.startsWith('/assets/');
    const caching = isHashed ? 'public, max-age=31536000, immutable' : 'no-cache';
    return { type: file.type, body: file.body, headers: { ...SAFETY, 'Cache-Control': caching } };
  }
  if (page === undefined || path.startsWith('/assets/') || !isAskedFor(path, accept)) {
    return undefined;
  }
  const up = '../'.repeat(path.split('/').length - 2);
  const body = page.document.replace('<head>', `<head><base href="${up === '' ? './' : up}">`);
  return {
    type: 'text/html; charset=utf-8',
    body,
    headers: { ...SAFETY, 'Cache-Control': 'no-cache' },
  };
}

// The built page: a document and a few files whose names contain a hash of their content. All of them are read into
// memory once, so that no request can name a path.

interface PageFile {
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
function readPageFiles(folder: string | undefined = builtPage()): PageFiles | undefined {
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
