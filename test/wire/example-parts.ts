import { toHash } from '../../src/base/brand.ts';
import type { AppendTurn, TurnInput } from '../../src/wire/append-turn.ts';
import type { PageOptions, TurnRec } from '../../src/wire/cxdb/turns.ts';

// The parts that the values of several examples share.

export const MESSAGE_BYTES: Buffer = Buffer.from('8201a47573657202a26869', 'hex');
export const MESSAGE_HASH: TurnInput['hash'] = toHash(
  '35759d80ce32644bc45034fb45870f0a0915d714b7824d0a4df535122ad75a91',
);
export const HELLO_BYTES: Buffer = Buffer.from('hello blob');
export const HELLO_HASH: TurnInput['hash'] = toHash(
  '0c82c44eaf4c3639df7c38503f60a5b609679ddc490c20ea74b4e514a4c25abf',
);
export const EMPTY_HASH: TurnInput['hash'] = toHash(
  'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262',
);
export const FS_ROOT: TurnInput['hash'] = toHash(
  'a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf',
);
export const NO_BYTES: Buffer = Buffer.alloc(0);
export const CREATED_AT = 1_700_000_000_000;

export const MESSAGE_TURN: TurnInput = {
  type: 'quipu.Message',
  version: 1,
  encoding: 1,
  compression: 0,
  rawLength: 11,
  hash: MESSAGE_HASH,
  payload: MESSAGE_BYTES,
};

export const TEXT_TURN: TurnInput = {
  type: 'n',
  version: 1,
  encoding: 3,
  compression: 0,
  rawLength: 10,
  hash: HELLO_HASH,
  payload: HELLO_BYTES,
};

export const APPEND: AppendTurn = {
  context: 1n,
  parent: 0n,
  turn: MESSAGE_TURN,
  key: undefined,
  fsRoot: undefined,
  expectHead: false,
  open: false,
  wantRow: false,
};

export const MESSAGE_REC: TurnRec = {
  id: 1n,
  parent: 0n,
  depth: 0,
  type: 'quipu.Message',
  version: 1,
  encoding: 1,
  size: 11,
  hash: MESSAGE_HASH,
  payload: MESSAGE_BYTES,
};

export const PLAIN_PAGE: PageOptions = {
  limit: 10,
  payload: false,
  wantExt: false,
  wantOpen: false,
  asOf: undefined,
  maxBytes: undefined,
};
