import { QuipuError, invalid, unsupported } from '../base/errors.ts';

const TCP_PORT = 7411;

export type Address =
  | {
      readonly kind: 'tcp' | 'tls';
      readonly host: string;
      readonly port: number;
      readonly timeoutMs?: number | undefined;
    }
  | { readonly kind: 'unix'; readonly path: string; readonly timeoutMs?: undefined }
  | { readonly kind: 'http'; readonly url: string; readonly timeoutMs?: undefined };

/** The scheme with its colon, in lower case; undefined for a path. */
function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]+:)/i.exec(url)?.[1]?.toLowerCase();
}

/**
 * Parses `quipu://host[:port]`, `quipus://…` for TLS, `unix:<path>`, `http(s)://…`. Addresses of the binary protocol
 * take `?timeoutMs=<n>`. Secrets do not belong in an address: lists and logs show it.
 */
export function parseAddress(url: string): Address {
  const scheme = schemeOf(url);
  if (scheme === 'unix:') return parseUnix(url);
  const parsed = parseUrl(url);
  if (parsed.username !== '' || parsed.password !== '') {
    throw invalid('url', 'has a user or password in it; give the token as an option');
  }
  if (scheme === 'http:' || scheme === 'https:') {
    return { kind: 'http', url: parsed.href, timeoutMs: undefined };
  }
  if (scheme !== 'quipu:' && scheme !== 'quipus:') throw unknownScheme(scheme);
  if (parsed.hostname === '') throw invalid('url', `names no host: ${url}`);
  if (parsed.pathname !== '' && parsed.pathname !== '/') {
    throw invalid('url', `has a path, and a server has one store: ${url}`);
  }
  return {
    kind: scheme === 'quipu:' ? 'tcp' : 'tls',
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? TCP_PORT : Number(parsed.port),
    timeoutMs: parseTimeout(parsed),
  };
}

function parseUnix(url: string): Address {
  const path = url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '') throw invalid('url', 'names no socket; write unix:<path>');
  return { kind: 'unix', path, timeoutMs: undefined };
}

function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch (error) {
    throw new QuipuError(
      'INVALID',
      `url is not an address: ${url}`,
      { what: 'url' },
      { cause: error },
    );
  }
}

function parseTimeout({ searchParams }: URL): number | undefined {
  for (const name of searchParams.keys()) {
    if (name !== 'timeoutMs') throw invalid('url', `has an unknown option "${name}"`);
  }
  const text = searchParams.get('timeoutMs');
  if (text === null) return undefined;
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw invalid('timeoutMs', `must be a whole number from 1, got ${JSON.stringify(text)}`);
}

function unknownScheme(scheme: string | undefined): QuipuError<'UNSUPPORTED'> {
  const found = scheme ?? 'no scheme';
  const message = `${found} is not an address of a server; write quipu://host:port`;
  return unsupported('store address', found, message);
}
