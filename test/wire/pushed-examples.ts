import { toReqId } from '../../src/wire/frame.ts';
import { toCall } from '../../src/wire/call-values.ts';
import { example } from './example.ts';
import type { Example } from './example.ts';
import { CREATED_AT, HELLO_BYTES, HELLO_HASH, MESSAGE_REC, NO_BYTES } from './example-parts.ts';

const OPENED_REC = { ...MESSAGE_REC, id: 2n, parent: 1n, depth: 1, type: 'n', encoding: 3 };
const DAMAGE = '{"file":"turns/turns.log","offset":128}';

/** What the pushed frames in docs/reference/wire-examples.md say, and the calls. */
export const PUSHED_AND_CALLED: Readonly<Record<string, Example>> = {
  'push TURN': example('push', 20n, {
    kind: 'turn',
    rec: MESSAGE_REC,
    ext: { createdAt: CREATED_AT, flags: 0, patchSeq: 0n },
  }),
  'push OPENED': example('push', 20n, {
    kind: 'opened',
    rec: { ...OPENED_REC, size: 0, hash: undefined, payload: NO_BYTES },
    ext: { createdAt: CREATED_AT, flags: 1, patchSeq: 0n },
  }),
  'push DELTA': example('push', 6n, {
    kind: 'delta',
    turn: 2n,
    offset: 0,
    bytes: Buffer.from('Hi'),
  }),
  'push SEALED': example('push', 20n, {
    kind: 'sealed',
    turn: 2n,
    outcome: 'interrupted',
    totalLength: 10,
    hash: HELLO_HASH,
  }),
  'push HEAD': example('push', 20n, { kind: 'head', common: 3n, head: 9n, headDepth: 4 }),
  'push PATCHED': example('push', 20n, {
    kind: 'patched',
    turn: 1n,
    seq: 6n,
    flags: 0,
    hash: HELLO_HASH,
  }),
  'push PATCHED by a tombstone': example('push', 20n, {
    kind: 'patched',
    turn: 1n,
    seq: 7n,
    flags: 1,
    hash: undefined,
  }),
  'push CAUGHT_UP': example('push', 6n, { kind: 'caught-up', turn: 1n }),

  CALL: example('CALL', 27n, {
    method: 'logs.append',
    body: toCall({
      name: 'chats/a',
      at: 2n ** 64n - 1n,
      bytes: Buffer.from([0, 1, 255]),
      limit: undefined,
      $n: 'x',
    }),
  }),
  'CALL reply': example('CALL reply', 27n, toCall([1, null, -0])),
  'CALL of a piece of an upload': example('CALL', 28n, {
    method: 'upload.piece',
    body: toCall([toReqId(27n), HELLO_BYTES]),
  }),
  'CALL that ends an upload': example('CALL', 29n, {
    method: 'upload.end',
    body: toCall([toReqId(27n)]),
  }),
  'STREAM item': example('STREAM', 28n, { kind: 'item', body: toCall(HELLO_BYTES) }),
  'STREAM end': example('STREAM', 28n, { kind: 'end' }),
  'STREAM error': example('STREAM', 28n, {
    kind: 'error',
    error: { code: 500, detail: 'damaged', quipu: { name: 'CORRUPT', data: DAMAGE } },
  }),
};
