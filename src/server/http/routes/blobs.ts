import { z } from 'zod';
import { notFound } from '../../../base/errors.ts';
import type { BlobDetails } from '../../../store/blobs.ts';
import { isKnown, HASH, count, flag, ofBlob, pageOf } from '../exchange/schemas.ts';
import { readUpload } from '../exchange/read-body.ts';
import { EXAMPLES, jsonReply, route } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';

/** Blobs are named by their content, so a cached copy never becomes stale. */
const FOR_EVER = 'private, max-age=31536000, immutable';

export const blobJson: z.ZodType = z
  .strictObject({
    hash: z.string(),
    sha256: z.string().optional(),
    size: z.int().min(0),
    storedSize: z.int().min(0),
    existed: z.boolean(),
  })
  .register(EXAMPLES, { hash: HASH, size: 0, storedSize: 96, existed: false });

export const blobRoutes: readonly Route[] = [
  route.get('/v1/blobs', {
    name: 'listBlobs',
    summary: 'Hashes of blobs, in their order',
    query: z.strictObject({
      prefix: z.string().optional().describe('Only hashes that begin with these hex digits'),
      limit: count.optional().describe('Default 50, at most 10,000'),
      cursor: z.string().optional().describe('From the page before'),
    }),
    answer: {
      what: 'A page; `cursor` is there when more may follow',
      json: pageOf(z.string()),
      example: { items: [HASH] },
    },
    give: ({ query, store }) => store.blobs.list(query),
  }),

  route.put('/v1/blobs', {
    name: 'putBlob',
    summary: 'Store bytes of any length by their content; the body is stored as it comes in',
    query: z.strictObject({ sha256: flag.optional().describe('Also find it by its SHA-256') }),
    body: { bytes: 'The bytes' },
    answer: { status: 201, what: 'Durable when it comes', json: blobJson },
    async run({ query: { sha256 = false }, request, store }) {
      const info = await store.blobs.put(readUpload(request), { sha256 });
      const status = info.existed ? 200 : 201;
      return jsonReply(info, { status, headers: { Location: `/v1/blobs/${info.hash}` } });
    },
  }),

  ofBlob.get('', {
    name: 'getBlob',
    summary: 'The bytes of a blob, whole or a range; HEAD gives its size',
    headers: {
      Range: 'One range of bytes',
      'If-None-Match': 'The ETag of a blob that the client has: 304',
    },
    answer: { what: 'The bytes', type: 'application/octet-stream' },
    async run({ params: { ref }, request, store }) {
      const details = await store.blobs.stat(ref);
      if (details === undefined) {
        throw notFound('blob', ref);
      }
      return sendBlob(details, request);
    },
  }),
];

function sendBlob({ hash, size }: BlobDetails, request: HttpRequest): Reply {
  const etag = `"${hash}"`;
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes', 'Cache-Control': FOR_EVER };
  if (isKnown(request.header('if-none-match'), etag)) return { status: 304, headers };
  const range = wantedRange(request, etag, size);
  if (range === 'unsatisfiable') {
    return { status: 416, headers: { ...headers, 'Content-Range': `bytes */${size}` } };
  }
  const { start, end } = range ?? { start: 0, end: size };
  return {
    status: range === undefined ? 200 : 206,
    type: 'application/octet-stream',
    headers: {
      ...headers,
      'Content-Length': String(end - start),
      ...(range !== undefined && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
    },
    body: request.service.served.engine.readBlob(hash, start, end),
  };
}

function wantedRange(
  request: HttpRequest,
  etag: string,
  size: number,
): ReturnType<typeof parseRange> {
  const condition = request.header('if-range');
  if (condition !== undefined && condition !== etag) return undefined;
  return parseRange(request.header('range'), size);
}

interface Range {
  readonly start: number;
  /** The end, exclusive. */
  readonly end: number;
}

/**
 * The one range that a `Range` header asks for. Undefined when there is none, or when a server may answer with the
 * whole: for several ranges, other units, or nonsense.
 */
function parseRange(header: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
}
