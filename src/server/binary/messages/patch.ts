import { invalid } from '../../../base/errors.ts';
import { hashBytes } from '../../../base/hash.ts';
import { REASON_BYTES_MAX } from '../../../context/limits.ts';
import { mustGetTurn } from '../../../context/turns/read-turns.ts';
import type { BlobPut, PatchAppend } from '../../../engine/batch.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { PatchRow } from '../../../engine/rows.ts';
import { Encoding } from '../../../format/encoding.ts';
import { decodePatch, encodePatchReply } from '../../../wire/patch.ts';
import type { PatchRequest } from '../../../wire/patch.ts';
import type { Job, MessageHandler, Reply, Request } from '../request.ts';
import { commitPatchOnce } from './patch-key.ts';
import type { PlannedPatch } from './patch-key.ts';
import { checkHash } from './take-payload.ts';
import { missing, turnOf } from './wire-ids.ts';
import { keyText } from './wire-key.ts';

const SEQ_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export function patchTurn(engine: Engine): MessageHandler {
  async function commit(request: PatchRequest): Promise<PatchRow> {
    const planned = await planPatch(engine, request);
    if (request.key !== undefined) {
      return commitPatchOnce(engine, planned, keyText(request.key));
    }
    const [row] = (await engine.commit(planned)).patches;
    if (row === undefined) throw new Error('a patch was stored and is not there');
    return row;
  }

  return {
    name: 'PATCH',
    needs: 'write',
    plan({ payload }: Request): Job {
      const request = decodePatch(payload);
      if (request.hash === undefined && request.payload.length > REASON_BYTES_MAX) {
        throw invalid('PATCH.payload', `of a tombstone has more than ${REASON_BYTES_MAX} bytes`);
      }
      const run = async (): Promise<Reply> => {
        const { turn, seq } = await commit(request);
        return { parts: encodePatchReply({ turn, seq: BigInt(seq), hash: request.hash }) };
      };
      return { order: 'barrier', run };
    },
  };
}

async function planPatch(engine: Engine, request: PatchRequest): Promise<PlannedPatch> {
  const { hash, payload, expectSeq } = request;
  const turn = await mustGetTurn(engine, turnOf(request.turn));
  const about = {
    turn: turn.id,
    // One past the highest number stands for every number that no patch can have.
    ...(expectSeq !== undefined && {
      expectedSeq: expectSeq <= SEQ_MAX ? Number(expectSeq) : Number.MAX_SAFE_INTEGER,
    }),
  };
  if (hash === undefined) {
    const reason = { hash: hashBytes(payload), bytes: payload };
    return planned([reason], {
      ...about,
      tombstone: true,
      encoding: Encoding.text,
      payload: reason.hash,
      size: payload.length,
    });
  }
  const isSent = payload.length > 0 || hash === hashBytes(payload);
  if (isSent) await checkHash(payload, hash, 'PATCH');
  const size = isSent ? payload.length : (await engine.statBlob(hash))?.size;
  if (size === undefined) throw missing('blob', hash);
  return planned(isSent ? [{ hash, bytes: payload }] : [], {
    ...about,
    tombstone: false,
    encoding: turn.encoding,
    payload: hash,
    size,
  });
}

function planned(blobs: readonly BlobPut[], patch: PatchAppend): PlannedPatch {
  return { blobs, patches: [patch] };
}
