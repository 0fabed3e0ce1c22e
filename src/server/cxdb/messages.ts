import { NO_TURN } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import { mustGetHead } from '../../context/turns/read-turns.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HeadRow } from '../../engine/rows.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import {
  decodeCtxCreate,
  decodeGetHead,
  encodeHead,
  decodeAttachFs,
  decodeGetBlob,
  decodePutBlob,
  encodeAttachFs,
  encodeGetBlobReply,
  encodePutBlobReply,
} from '../../wire/cxdb/messages.ts';
import type { Plan, Reply } from '../request/request.ts';
import { asMissing, contextOf, turnOf } from '../request/wire-ids.ts';
import { notFound, tooLarge } from '../../base/errors.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import { assertHash, checkHash, isLarge } from '../request/take-payload.ts';

// The messages of cxdb about contexts, blobs and file-system roots.

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

export const getBlob: Plan = (engine, { payload }) => {
  const hash = decodeGetBlob(payload);
  const run = async (): Promise<Reply> => {
    // A blob can be larger than memory, so only a blob that fits a frame is loaded.
    const stat = await engine.statBlob(hash);
    if (stat === undefined) throw notFound('blob', hash);
    const { size } = stat;
    if (size > RAW_BYTES_MAX) {
      const message = `the blob has ${size} bytes, and ${RAW_BYTES_MAX} fit a reply; read it in pieces`;
      throw tooLarge('blob', RAW_BYTES_MAX, size, message);
    }
    const bytes = await engine.viewBlob(hash);
    if (bytes === undefined) throw notFound('blob', hash);
    return { parts: encodeGetBlobReply(bytes) };
  };
  return { order: 'read', run };
};

export const putBlob: Plan = (engine, { payload }) => {
  const put = decodePutBlob(payload);
  const store = async (): Promise<Reply> => {
    const [existed] = await Promise.all([
      engine.hasBlob(put.hash),
      engine.commit({ blobs: [put] }),
    ]);
    return { parts: encodePutBlobReply({ hash: put.hash, wasNew: !existed }) };
  };
  if (!isLarge(put.bytes.length)) {
    assertHash(put.bytes, put.hash, 'PUT_BLOB');
    return { order: 'write', run: store };
  }
  const run = async (): Promise<Reply> => {
    await checkHash(put.bytes, put.hash, 'PUT_BLOB');
    return store();
  };
  return { order: 'barrier', run };
};

export const attachFs: Plan = (engine, { payload }) => {
  const attach = decodeAttachFs(payload);
  const turn = turnOf(attach.turn);
  const run = async (): Promise<Reply> => {
    await engine.commit({ fsRoots: [{ turn, root: attach.fsRoot }] });
    return { parts: encodeAttachFs(attach) };
  };
  return { order: 'write', run };
};
