import { NO_TURN } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import { mustGetHead } from '../../context/turns/read-turns.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HeadRow } from '../../engine/rows.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import { decodeCtxCreate, decodeGetHead, encodeHead } from '../../wire/cxdb/messages.ts';
import type { Plan } from '../request/request.ts';
import { asMissing, contextOf, turnOf } from '../request/wire-ids.ts';

export function headParts(row: HeadRow): Parts {
  return encodeHead({ context: row.id, head: row.head, depth: row.headDepth });
}

/** Handles CTX_CREATE and CTX_FORK, which do the same. */
export const ctxCreate: Plan = (engine, { payload }) => {
  const base = decodeCtxCreate(payload);
  return { order: 'write', run: async () => ({ parts: await create(engine, base) }) };
};

async function create(engine: Engine, base: bigint): Promise<Parts> {
  const from = base === NO_TURN ? {} : { base: turnOf(base, 'base turn') };
  try {
    const { contexts } = await engine.commit({ contexts: [{ do: 'create', ...from }] });
    return headParts(only(contexts));
  } catch (error) {
    throw asMissing(error, 'base turn');
  }
}

export const getHead: Plan = (engine, { payload }) => {
  const context = contextOf(decodeGetHead(payload));
  return {
    order: 'read',
    run: async () => ({ parts: headParts(await mustGetHead(engine, context)) }),
  };
};
