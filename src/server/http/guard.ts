import type { IncomingMessage } from 'node:http';
import { QuipuError, invalid } from '../../base/errors.ts';

// Refuses requests before anything else looks at them: tricks with the path, and web pages that were made to talk to a
// server of another site.

export interface GuardRules {
  /** Where no token protects the store, the server answers only to names of this machine. */
  readonly loopbackHostsOnly: boolean;
  /** Origins of web pages that may send requests, such as `https://app.example`. */
  readonly origins: readonly string[];
}

/** Headers of requests and answers of durable streams. */
const STREAM_ASKED =
  'Stream-Seq, Stream-TTL, Stream-Expires-At, Stream-Closed, Stream-Forked-From, Stream-Fork-Offset, Stream-Fork-Sub-Offset, Producer-Id, Producer-Epoch, Producer-Seq';
const STREAM_ANSWERED =
  'Stream-Next-Offset, Stream-Cursor, Stream-Up-To-Date, Stream-Closed, Stream-TTL, Stream-Expires-At, Stream-SSE-Data-Encoding, Producer-Epoch, Producer-Seq, Producer-Expected-Seq, Producer-Received-Seq';

const ESCAPED_TRICK = /%(?:00|2e|2f|5c)/i;
const LOOPBACK_NAME = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export function guardRequest(incoming: IncomingMessage, rules: GuardRules): void {
  const [path = ''] = (incoming.url ?? '').split('?');
  if (
    !path.startsWith('/') ||
    /[\\\0]|\/\/|\/\.{1,2}(?:\/|$)/.test(path) ||
    ESCAPED_TRICK.test(path) ||
    !isText(path)
  ) {
    throw invalid('path', 'is not a path of this server; /openapi.json lists them');
  }
  const { host = '', origin, 'sec-fetch-site': site } = incoming.headers;
  // A page of another site whose name was pointed at this machine still sends that name.
  if (rules.loopbackHostsOnly && !LOOPBACK_NAME.test(host)) {
    throw new QuipuError(
      'FORBIDDEN',
      `this server does not answer to the name "${clip(host)}"; use localhost, or give the server tokens`,
      {
        scope: 'host',
      },
    );
  }
  if (origin === undefined) {
    // A picture, a form or a link on a page names no origin, but a browser says that the page is of another site.
    if (site === 'cross-site') throw refusedPage('another site');
    // Behind a proxy that changes the name of the host, the browser's word tells the server's own page from others.
  } else if (site !== 'same-origin' && !isOwn(origin, host) && !rules.origins.includes(origin)) {
    throw refusedPage(`"${clip(origin)}"`);
  }
}

function refusedPage(of: string): QuipuError<'FORBIDDEN'> {
  return new QuipuError(
    'FORBIDDEN',
    `pages of ${of} may not use this server; to allow them, start it with --allow-origin`,
    { scope: 'origin' },
  );
}

/** Headers that let a page of an allowed origin read the answer. */
export function corsHeaders(
  incoming: IncomingMessage,
  rules: GuardRules,
): Readonly<Record<string, string>> {
  const { origin } = incoming.headers;
  if (origin === undefined || !rules.origins.includes(origin)) return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': `ETag, Location, X-Request-Id, ${STREAM_ANSWERED}`,
    Vary: 'Origin',
  };
}

/** The answer to the preflight request of a browser. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': `Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Range, X-Request-Id, ${STREAM_ASKED}`,
  'Access-Control-Max-Age': '600',
};

/** False for escapes that are no UTF-8. The router leaves them as they are, so `%ff` would mean the same as `%25ff`. */
function isText(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function isOwn(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function clip(text: string): string {
  return text.slice(0, 100);
}
