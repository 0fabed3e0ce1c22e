import type { Engine } from '../../../engine/engine.ts';
import type { Parts } from '../../../wire/byte-writer.ts';
import { encodePage } from '../../../wire/page.ts';
import { decodeGetBefore, decodeGetLast, decodeGetRange } from '../../../wire/page-request.ts';
import type { Job, MessageHandler, Request } from '../request.ts';
import { readBefore, readLast, readRange } from './read-page.ts';
import type { ReadPage } from './read-page.ts';

export function getLast(engine: Engine): MessageHandler {
  return {
    name: 'GET_LAST',
    needs: 'read',
    plan: ({ payload, flags }: Request) => {
      const request = decodeGetLast(payload, flags);
      return reading(() => readLast(engine, request));
    },
  };
}

export function getBefore(engine: Engine): MessageHandler {
  return {
    name: 'GET_BEFORE',
    needs: 'read',
    plan: ({ payload, flags }: Request) => {
      const request = decodeGetBefore(payload, flags);
      return reading(() => readBefore(engine, request));
    },
  };
}

export function getRange(engine: Engine): MessageHandler {
  return {
    name: 'GET_RANGE_BY_DEPTH',
    needs: 'read',
    plan: ({ payload, flags }: Request) => {
      const request = decodeGetRange(payload, flags);
      return reading(() => readRange(engine, request));
    },
  };
}

function reading(read: () => Promise<ReadPage>): Job {
  return { order: 'read', run: async () => ({ parts: toParts(await read()) }) };
}

function toParts({ turns, wantExt, head, headDepth }: ReadPage): Parts {
  const recs = turns.map(({ rec }) => rec);
  const [oldest] = recs;
  return encodePage({
    turns: recs,
    cursor: oldest === undefined || oldest.parent === 0n ? 0n : oldest.id,
    head,
    headDepth,
    ext: wantExt ? turns.map(({ ext }) => ext) : undefined,
  });
}
