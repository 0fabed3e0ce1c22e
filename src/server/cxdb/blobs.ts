import { notFound, tooLarge } from '../../base/errors.ts';
import {
  decodeAttachFs,
  decodeGetBlob,
  decodePutBlob,
  encodeAttachFs,
  encodeGetBlobReply,
  encodePutBlobReply,
} from '../../wire/cxdb/messages.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import type { Plan, Reply } from '../request/request.ts';
import { assertHash, checkHash, isLarge } from '../request/take-payload.ts';
import { turnOf } from '../request/wire-ids.ts';

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
