import { NO_TURN } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import { mustGetHead, mustGetTurn } from '../../context/turns/read-turns.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextMeta, HeadRow, PatchRow } from '../../engine/rows.ts';
import type { Parts } from '../../wire/byte-codec.ts';
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
  decodePatch,
  encodePatchReply,
} from '../../wire/cxdb/messages.ts';
import type { Plan, Reply, Session } from '../request/request.ts';
import {
  asMissing,
  contextOf,
  turnOf,
  assertHash,
  checkHash,
  isLarge,
  keyText,
} from '../request/take-input.ts';
import { notFound, tooLarge, QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/text.ts';
import { REASON_BYTES_MAX } from '../../context/limits.ts';
import type { Batch, BlobPut, PatchAppend } from '../../engine/batch.ts';
import { Encoding } from '../../format/turn-record.ts';
import type { PatchRequest } from '../../wire/cxdb/messages.ts';

// The messages of cxdb about contexts, blobs and file-system roots.

export function headParts(row: HeadRow): Parts {
  return encodeHead({ context: row.id, head: row.head, depth: row.headDepth });
}

/** Handles CTX_CREATE and CTX_FORK, which do the same. */
export const ctxCreate: Plan = (engine, { payload }, session) => {
  const base = decodeCtxCreate(payload);
  return { order: 'write', run: async () => ({ parts: await create(engine, base, session) }) };
};

async function create(engine: Engine, base: bigint, session: Session): Promise<Parts> {
  const from = base === NO_TURN ? {} : { base: turnOf(base, 'base turn') };
  const meta = metaOf(session);
  try {
    const { contexts } = await engine.commit({ contexts: [{ do: 'create', ...from, ...meta }] });
    const made = only(contexts);
    session.made(made.id);
    return headParts(made);
  } catch (error) {
    throw asMissing(error, 'base turn');
  }
}

/** Clients of cxdb know their contexts by the name that they give themselves, also when they are gone. */
function metaOf({ tag, knowsQuipu }: Session): { meta?: ContextMeta } {
  const name = tag.trim();
  const isName = name !== '' && !/\p{Cc}/u.test(name);
  return isName && !knowsQuipu ? { meta: { meta: { client_tag: name } } } : {};
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

const SEQ_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export const patchTurn: Plan = (engine, { payload }) => {
  const request = decodePatch(payload);
  if (request.hash === undefined && request.payload.length > REASON_BYTES_MAX) {
    throw invalid('PATCH.payload', `of a tombstone has more than ${REASON_BYTES_MAX} bytes`);
  }
  const run = async (): Promise<Reply> => {
    const { turn, seq } = await commit(engine, request);
    return { parts: encodePatchReply({ turn, seq: BigInt(seq), hash: request.hash }) };
  };
  return { order: 'barrier', run };
};

async function commit(engine: Engine, request: PatchRequest): Promise<PatchRow> {
  const planned = await planPatch(engine, request);
  if (request.key !== undefined) return commitPatchOnce(engine, planned, keyText(request.key));
  return only((await engine.commit(planned)).patches);
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
  if (size === undefined) throw notFound('blob', hash);
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

// The idempotency key of a patch. Engines know only keys of turns, so this key is a document, written in the commit of
// its patch. The document says what was asked for, and which patch on the turn was the newest before.

interface PlannedPatch extends Batch {
  readonly patches: readonly [PatchAppend];
}

interface KeyNote {
  /** A hash of the key and the payload's hash. The hash alone would let a reader check a guess of what was erased. */
  readonly asked?: string;
  /** The payload's hash, in notes of older versions. */
  readonly payload?: string;
  readonly tombstone: boolean;
  /** The newest patch on the turn before this one; 0 when there was none. */
  readonly after: number;
}

/** Commits the patch, or returns the patch that the same request made the first time. */
async function commitPatchOnce(
  engine: Engine,
  planned: PlannedPatch,
  key: string,
): Promise<PatchRow> {
  const [patch] = planned.patches;
  const name = `patch-keys/${patch.turn}/${hashBytes(encodeUtf8(key))}`;
  for (;;) {
    const known = await engine.getDoc(name);
    const patches = await engine.getPatches([patch.turn]);
    if (known !== undefined) {
      return firstResult(JSON.parse(known.content) as KeyNote, { patch, patches, key });
    }
    const after = patches.at(-1)?.seq ?? 0;
    const note: KeyNote = { asked: askedOf(key, patch), tombstone: patch.tombstone, after };
    try {
      const { patches: stored } = await engine.commit({
        ...planned,
        patches: [{ ...patch, expectedSeq: patch.expectedSeq ?? after }],
        docs: [{ name, content: JSON.stringify(note), expectedVersion: 0 }],
      });
      return only(stored);
    } catch (error) {
      // Another patch came in between, or the same request over another connection: look again. If the newest patch is
      // not the one that the client itself expected, the client gets the error.
      const isOurs = isQuipuError(error, 'HEAD_MOVED') && !missesExpected(error, patch);
      if (!isOurs) throw error;
    }
  }
}

function askedOf(key: string, { payload }: PatchAppend): string {
  return hashBytes(encodeUtf8(`${payload}${key}`));
}

function missesExpected(error: QuipuError<'HEAD_MOVED'>, patch: PatchAppend): boolean {
  return patch.expectedSeq !== undefined && error.data.context === String(patch.turn);
}

interface Repeated {
  readonly patch: PatchAppend;
  readonly patches: readonly PatchRow[];
  readonly key: string;
}

function firstResult(note: KeyNote, { patch, patches, key }: Repeated): PatchRow {
  const first = patches.find(({ seq }) => seq > note.after);
  const isAsked = note.asked === askedOf(key, patch) || note.payload === patch.payload;
  const isSame = isAsked && note.tombstone === patch.tombstone;
  if (isSame && first !== undefined) return first;
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key)} stands for another patch on turn ${patch.turn}; use a new key`,
    { context: '', key, turn: String(patch.turn) },
  );
}
