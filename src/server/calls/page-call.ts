import { z } from 'zod';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { CheckedRead } from '../../context/check-input.ts';
import type { LoadedPage, LoadedTurn, PageRequest } from '../../context/loaded-page.ts';
import { readPage } from '../../context/read-pages.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type { PackedOverlay, PackedPage, PackedRow } from '../../wire/packed-page.ts';
import type { AnswerHandler } from '../call-handler.ts';
import { answer } from './answer.ts';
import type { NamedHandler } from './answer.ts';
import { contextId, count, limit, turnId } from './check-args.ts';

/** Payload bytes of one page, so that with its records it fits a frame. The cursor goes on from there. */
const PAGE_BYTES_MAX = 33_554_432;

const request = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('last'), context: contextId, n: limit }),
  z.strictObject({ kind: z.literal('before'), context: contextId, turn: turnId, n: limit }),
  z.strictObject({ kind: z.literal('range'), context: contextId, from: count, to: count }),
  z.strictObject({ kind: z.literal('chain'), tip: turnId, from: count, to: count }),
]) as unknown as z.ZodType<PageRequest>;
const read = z.strictObject({
  payload: z.boolean(),
  as: z.union([z.literal(['latest', 'original']), count]),
  maxBytes: count,
}) as unknown as z.ZodType<CheckedRead>;

/** Head, records, patches and payloads of a page in one answer. */
export function pageCall(engine: Engine): NamedHandler<AnswerHandler> {
  const args = z.tuple([request, read]);
  return answer('contexts.page', { needs: 'read', args }, async ([asked, how]) => {
    const maxBytes = Math.min(how.maxBytes, PAGE_BYTES_MAX);
    return packPage(await readPage(engine, asked, { ...how, maxBytes }));
  });
}

function packPage({ turns, headDepth, cursor, nextDepth }: LoadedPage): PackedPage {
  return {
    rows: encodeUtf8(JSON.stringify(turns.map(({ view }) => packRow(view.row)))),
    payloads: turns.map(packPayload),
    overlays: turns.flatMap(packOverlay),
    reasons: turns.flatMap(({ reason }, index) => (reason === undefined ? [] : [[index, reason]])),
    headDepth,
    ...(cursor !== undefined && { cursor: Number(cursor) }),
    ...(nextDepth !== undefined && { nextDepth }),
  };
}

function packPayload({ bytes }: LoadedTurn): Uint8Array | null | undefined {
  return bytes !== undefined && bytes.length > PAGE_BYTES_MAX ? null : bytes;
}

function packOverlay({ view }: LoadedTurn, index: number): PackedOverlay[] {
  const { patch, encoding, payload, size } = view;
  return patch === undefined ? [] : [{ index, patch, encoding, payload, size }];
}

function packRow(row: TurnRow): PackedRow {
  return [
    Number(row.id),
    Number(row.parent),
    Number(row.context),
    row.depth,
    row.type,
    row.version,
    row.encoding,
    row.payload ?? null,
    row.size,
    row.flags,
    row.createdAt,
  ];
}
