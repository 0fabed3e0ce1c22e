import { toReqId } from '../../src/wire/frame.ts';
import { helloMeta } from '../../src/wire/hello.ts';
import { LAST_DEPTHS, FROM_NOW } from '../../src/wire/cxdb/turns.ts';
import { example } from './example.ts';
import type { Example } from './example.ts';
import {
  APPEND,
  CREATED_AT,
  EMPTY_HASH,
  FS_ROOT,
  HELLO_BYTES,
  HELLO_HASH,
  MESSAGE_HASH,
  MESSAGE_REC,
  MESSAGE_TURN,
  NO_BYTES,
  PLAIN_PAGE,
  TEXT_TURN,
} from './example-parts.ts';

const HELLO = { version: 1, tag: 'agent-1', meta: '' };
const SHORT_REC = { ...MESSAGE_REC, type: 'n', encoding: 2, size: 2, hash: EMPTY_HASH };
const TEXT_REC = { ...MESSAGE_REC, id: 2n, parent: 1n, depth: 1, type: 'n', encoding: 3 };
const CAPS = '{"server":"quipu","ext":1,"max_payload":67104768}';
const FACTS = '{"context":"1","expected":"16","head":"17"}';

/** What the frames of requests and replies in docs/reference/wire-examples.md say. */
export const REPLIED: Readonly<Record<string, Example>> = {
  'HELLO, legacy': example('HELLO', 1n, { version: 0, tag: '', meta: '' }),
  HELLO: example('HELLO', 1n, HELLO),
  'HELLO with meta': example('HELLO', 1n, {
    ...HELLO,
    meta: helloMeta({ token: 's3', quipu: true }),
  }),
  'HELLO reply': example('HELLO reply', 1n, { sessionId: 7n, version: 1, caps: undefined }),
  'HELLO reply with caps': example('HELLO reply', 1n, { sessionId: 7n, version: 1, caps: CAPS }),

  CTX_CREATE: example('CTX_CREATE', 2n, 0n),
  'CTX_CREATE reply': example('CTX_CREATE reply', 2n, { context: 1n, head: 0n, depth: 0 }),
  CTX_FORK: example('CTX_FORK', 0x8899aabbccddeeffn, 3n),
  'CTX_FORK reply': example('CTX_FORK reply', 0x8899aabbccddeeffn, {
    context: 2n,
    head: 3n,
    depth: 2,
  }),
  GET_HEAD: example('GET_HEAD', 9n, 1n),
  'GET_HEAD reply': example('GET_HEAD reply', 9n, {
    context: 1n,
    head: 2n ** 40n + 5n,
    depth: 70_000,
  }),
  'GET_HEAD of an unknown context': example('GET_HEAD', 5n, 42n),

  APPEND_TURN: example('APPEND_TURN', 3n, { ...APPEND, key: Buffer.from('k-1') }),
  'APPEND_TURN reply': example('APPEND_TURN reply', 3n, {
    context: 1n,
    turn: 1n,
    depth: 0,
    hash: MESSAGE_HASH,
  }),
  'APPEND_TURN with everything': example('APPEND_TURN', 10n, {
    ...APPEND,
    parent: 1n,
    turn: {
      ...MESSAGE_TURN,
      type: '',
      version: 2,
      encoding: 3,
      compression: 1,
      payload: Buffer.from('28b52ffd200b5900', 'hex'),
    },
    key: Buffer.from([0xff, 0]),
    fsRoot: FS_ROOT,
    expectHead: true,
  }),
  'APPEND_TURN for the row': example('APPEND_TURN', 12n, { ...APPEND, wantRow: true }),
  'APPEND_TURN for the row, reply': example('APPEND_TURN reply with the row', 12n, {
    context: 1n,
    turn: 1n,
    depth: 0,
    hash: MESSAGE_HASH,
    seq: 2,
    replayed: false,
    parent: 0n,
    createdAt: 1_700_000_000_000,
    turnFlags: 0,
    version: 1,
    encoding: 1,
    size: 11,
    type: 'quipu.Message',
  }),
  'APPEND_TURN of an open turn': example('APPEND_TURN', 11n, {
    ...APPEND,
    turn: { ...TEXT_TURN, type: 'größe', rawLength: 0, hash: EMPTY_HASH, payload: NO_BYTES },
    open: true,
  }),
  'APPEND_TURN of an open turn, reply': example('APPEND_TURN reply', 11n, {
    context: 1n,
    turn: 2n,
    depth: 1,
    hash: undefined,
  }),
  APPEND_BATCH: example('APPEND_BATCH', 22n, {
    context: 1n,
    parent: 1n,
    items: [
      { turn: MESSAGE_TURN, fsRoot: undefined },
      { turn: TEXT_TURN, fsRoot: FS_ROOT },
    ],
    key: Buffer.from('b-1'),
    expectHead: true,
  }),
  'APPEND_BATCH reply': example('APPEND_BATCH reply', 22n, {
    context: 1n,
    turns: [
      { id: 2n, depth: 1, hash: MESSAGE_HASH },
      { id: 3n, depth: 2, hash: HELLO_HASH },
    ],
  }),

  GET_LAST: example('GET_LAST', 4n, { context: 1n, ...PLAIN_PAGE }),
  'GET_LAST reply': example('GET_LAST reply', 4n, {
    turns: [{ ...MESSAGE_REC, payload: NO_BYTES }],
    cursor: 0n,
    head: 1n,
    headDepth: 0,
    ext: undefined,
  }),
  'GET_LAST with every option': example('GET_LAST', 12n, {
    context: 1n,
    limit: 64,
    payload: true,
    wantExt: true,
    wantOpen: true,
    asOf: 5n,
    maxBytes: 1_048_576,
  }),
  'GET_LAST reply with EXT': example('GET_LAST reply', 12n, {
    turns: [
      MESSAGE_REC,
      { ...TEXT_REC, version: 4, size: 10, hash: undefined, payload: HELLO_BYTES },
    ],
    cursor: 0n,
    head: 1n,
    headDepth: 0,
    ext: [
      { createdAt: CREATED_AT, flags: 40, patchSeq: 5n },
      { createdAt: CREATED_AT + 1, flags: 1, patchSeq: 0n },
    ],
  }),
  'GET_LAST reply without turns': example('GET_LAST reply', 13n, {
    turns: [],
    cursor: 0n,
    head: 0n,
    headDepth: 0,
    ext: undefined,
  }),
  GET_BEFORE: example('GET_BEFORE', 14n, {
    context: 1n,
    before: 9n,
    ...PLAIN_PAGE,
    limit: 2,
    payload: true,
  }),
  'GET_BEFORE as of a patch': example('GET_BEFORE', 14n, {
    context: 0n,
    before: 9n,
    ...PLAIN_PAGE,
    limit: 2,
    payload: true,
    asOf: 0n,
  }),
  'GET_BEFORE reply': example('GET_BEFORE reply', 14n, {
    turns: [{ ...SHORT_REC, id: 8n, parent: 7n, depth: 7, payload: Buffer.from('{}') }],
    cursor: 8n,
    head: 12n,
    headDepth: 11,
    ext: undefined,
  }),
  GET_RANGE_BY_DEPTH: example('GET_RANGE_BY_DEPTH', 15n, {
    context: 1n,
    chainEnd: 0n,
    startDepth: 3,
    ...PLAIN_PAGE,
  }),
  'GET_RANGE_BY_DEPTH of the last turns': example('GET_RANGE_BY_DEPTH', 15n, {
    context: 0n,
    chainEnd: 12n,
    startDepth: LAST_DEPTHS,
    ...PLAIN_PAGE,
    limit: 1,
    payload: true,
    wantOpen: true,
    maxBytes: 4096,
  }),
  'GET_RANGE_BY_DEPTH reply': example('GET_RANGE_BY_DEPTH reply', 15n, {
    turns: [{ ...SHORT_REC, id: 4n, parent: 3n, depth: 3, payload: NO_BYTES }],
    cursor: 4n,
    head: 12n,
    headDepth: 11,
    ext: undefined,
  }),

  GET_BLOB: example('GET_BLOB', 16n, HELLO_HASH),
  'GET_BLOB reply': example('GET_BLOB reply', 16n, HELLO_BYTES),
  'ATTACH_FS, request and reply': example('ATTACH_FS', 17n, { turn: 2n, fsRoot: FS_ROOT }),
  PUT_BLOB: example('PUT_BLOB', 18n, { hash: HELLO_HASH, bytes: HELLO_BYTES }),
  'PUT_BLOB reply': example('PUT_BLOB reply', 18n, { hash: HELLO_HASH, wasNew: true }),
  ERROR: example('ERROR', 5n, { code: 404, detail: 'context', quipu: undefined }),
  'ERROR with the facts': example('ERROR', 19n, {
    code: 409,
    detail: 'the head moved',
    quipu: { name: 'HEAD_MOVED', data: FACTS },
  }),

  SUBSCRIBE: example('SUBSCRIBE', 6n, { context: 1n, after: 1n, want: 3 }),
  'SUBSCRIBE reply': example('SUBSCRIBE reply', 6n, { context: 1n, head: 1n, depth: 0 }),
  'SUBSCRIBE from now': example('SUBSCRIBE', 20n, { context: 1n, after: FROM_NOW, want: 7 }),
  'UNSUBSCRIBE, request and reply': example('UNSUBSCRIBE', 21n, toReqId(20n)),
  APPEND_DELTA: example('APPEND_DELTA', 7n, {
    context: 1n,
    turn: 2n,
    offset: 0,
    bytes: Buffer.from('Hi'),
  }),
  'APPEND_DELTA reply': example('APPEND_DELTA reply', 7n, { turn: 2n, totalLength: 2 }),
  SEAL: example('SEAL', 23n, {
    context: 1n,
    turn: 2n,
    outcome: 'complete',
    totalLength: 10,
    hash: HELLO_HASH,
    reason: '',
  }),
  'SEAL as aborted': example('SEAL', 24n, {
    context: 1n,
    turn: 2n,
    outcome: 'aborted',
    totalLength: 4,
    hash: undefined,
    reason: 'völlig',
  }),
  'SEAL reply': example('SEAL reply', 23n, { context: 1n, turn: 2n, depth: 1, hash: HELLO_HASH }),
  PATCH: example('PATCH', 25n, {
    turn: 1n,
    expectSeq: 5n,
    hash: HELLO_HASH,
    payload: HELLO_BYTES,
    key: Buffer.from('p-1'),
  }),
  'PATCH, a tombstone': example('PATCH', 26n, {
    turn: 1n,
    expectSeq: undefined,
    hash: undefined,
    payload: Buffer.from('secret'),
    key: undefined,
  }),
  'PATCH reply': example('PATCH reply', 25n, { turn: 1n, seq: 6n, hash: HELLO_HASH }),
  'PATCH reply of a tombstone': example('PATCH reply', 26n, { turn: 1n, seq: 7n, hash: undefined }),
};
