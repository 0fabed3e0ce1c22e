import { NO_TURN } from '../../base/brand.ts';
import { mustGetHead } from '../../context/turns/read-turns.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HeadRow } from '../../engine/rows.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import { decodeCtxCreate, decodeGetHead, encodeHead } from '../../wire/cxdb/head.ts';
import type { MessageHandler, Request } from '../request/request.ts';
import { asMissing, contextOf, turnOf } from '../request/wire-ids.ts';

export function headParts(row: HeadRow): Parts {
  return encodeHead({ context: row.id, head: row.head, depth: row.headDepth });
}

/** Handles CTX_CREATE and CTX_FORK, which do the same. */
export function ctxCreate(engine: Engine, name: string): MessageHandler {
  async function create(base: bigint): Promise<Parts> {
    const from = base === NO_TURN ? {} : { base: turnOf(base, 'base turn') };
    try {
      const { contexts } = await engine.commit({ contexts: [{ do: 'create', ...from }] });
      const [created] = contexts;
      if (created === undefined) throw new Error('a context was created and is not there');
      return headParts(created);
    } catch (error) {
      throw asMissing(error, 'base turn');
    }
  }

  return {
    name,
    needs: 'write',
    plan({ payload }: Request) {
      const base = decodeCtxCreate(payload);
      return { order: 'write', run: async () => ({ parts: await create(base) }) };
    },
  };
}

export function getHead(engine: Engine): MessageHandler {
  return {
    name: 'GET_HEAD',
    needs: 'read',
    plan({ payload }: Request) {
      const context = contextOf(decodeGetHead(payload));
      return {
        order: 'read',
        run: async () => ({ parts: headParts(await mustGetHead(engine, context)) }),
      };
    },
  };
}
