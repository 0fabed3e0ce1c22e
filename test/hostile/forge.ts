import { canonicalJson } from '../../src/base/canonical-json.ts';
import { crc32, seal } from '../../src/format/bytes.ts';
import {
  decodeCheckpoint,
  decodeFrameBody,
  decodeFrameHeader,
  encodeCheckpoint,
  encodedWriteLength,
  encodeFrame,
  FRAME_ALIGN_BYTES,
  FRAME_HEADER_BYTES,
  frameLength,
  type JournalWrite,
} from '../../src/format/journal-frame.ts';
import { decodeDocRecord, docRecordLength, encodeDocRecord } from '../../src/format/doc-record.ts';
import { frameSaltOf } from '../../src/format/format-file.ts';

// Changes what a file of a store says, and makes every checksum right again, as only an attacker can.

/** What chance decides: a change takes its choices from these numbers, one after the other. */
export class Dice {
  readonly #rolls: readonly number[];
  #at = 0;

  constructor(rolls: readonly number[]) {
    this.#rolls = rolls;
  }

  below(limit: number): number {
    const roll = this.#rolls[this.#at % this.#rolls.length] ?? 0;
    this.#at += 1;
    return limit <= 0 ? 0 : roll % limit;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

/** The files of a store, by their names. */
export type Files = Map<string, Buffer>;

const U32S = [0, 1, 2, 3, 255, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1] as const;
const SAFE = [...U32S, 2 ** 32, 2 ** 40, 2 ** 50, 2 ** 53 - 1] as const;
const U64S = [...SAFE, 2 ** 53, 2 ** 64 - 2048] as const;
const NAMES = [
  '',
  '.',
  '..',
  '../escaped',
  '/data/escaped',
  'a',
  'contexts/1',
  'contexts/99',
  'FORMAT',
  'turns/heads.tbl',
  'out/../../escaped',
] as const;
const JSONS: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  0.5,
  2 ** 31,
  2 ** 50,
  2 ** 53,
  1e300,
  '',
  '-1',
  '../../escaped',
  'x'.repeat(5000),
  [],
  [null],
  {},
  JSON.parse('{"__proto__":{"length":9},"length":1e9}') as unknown,
];

/** Changes one place of a value of JSON: another value, none, that of a neighbour, or another number. */
export function forgeJson(value: unknown, dice: Dice): unknown {
  const root = { value: structuredClone(value) };
  const places: (readonly [Record<string, unknown>, string])[] = [];
  const walk = (parent: Record<string, unknown>): void => {
    for (const [key, child] of Object.entries(parent)) {
      places.push([parent, key]);
      if (typeof child === 'object' && child !== null) walk(child as Record<string, unknown>);
    }
  };
  walk(root);
  const [at, key] = dice.pick(places);
  const how = dice.below(8);
  if (how === 0 && at !== root) delete at[key];
  else if (how === 1) at[key] = structuredClone(at[dice.pick(Object.keys(at))]);
  else if (how === 2 && typeof at[key] === 'number') at[key] += dice.pick([1, -1, 7]);
  else at[key] = structuredClone(dice.pick(JSONS));
  return root.value;
}

type Forge = (files: Files, name: string, dice: Dice) => void;

function contentOf(files: Files, name: string): Buffer {
  return files.get(name) ?? Buffer.alloc(0);
}

function putNumber(record: Buffer, dice: Dice, from = 0, end = record.length - 4): void {
  const at = from + 4 * dice.below(Math.floor((end - from) / 4));
  if (dice.below(2) === 0 || at + 8 > end) record.writeUInt32LE(dice.pick(U32S), at);
  else record.writeBigUInt64LE(BigInt(dice.pick(U64S)), at);
}

function forgeRecord(record: Buffer, dice: Dice): void {
  putNumber(record, dice);
  seal(record);
}

/** A file of records of one size, each with its checksum at its end. */
function fixed(size: number): Forge {
  return (files, name, dice) => {
    const bytes = contentOf(files, name);
    const at = dice.below(Math.floor(bytes.length / size)) * size;
    if (bytes.length >= size) forgeRecord(bytes.subarray(at, at + size), dice);
  };
}

const CHECKPOINTS = ['journal/checkpoint-a', 'journal/checkpoint-b'] as const;

/** Both files get the same, because one of them alone would not count. */
function changeCheckpoint(files: Files, change: (body: unknown) => unknown, more = {}): void {
  const found = decodeCheckpoint(contentOf(files, CHECKPOINTS[0]));
  if (found === undefined) throw new Error('there is no checkpoint');
  const body = change(found.body);
  for (const name of CHECKPOINTS)
    files.set(name, Buffer.from(encodeCheckpoint({ ...found, ...more, body })));
}

const forgeCheckpoint: Forge = (files, _, dice) => {
  const how = dice.below(8);
  if (how > 1) changeCheckpoint(files, (body) => forgeJson(body, dice));
  else
    changeCheckpoint(files, (body) => body, {
      [how === 0 ? 'seq' : 'generation']: dice.pick(SAFE),
    });
};

/** One line of canonical JSON with its own checksum in the field `check`. */
const forgeChecked: Forge = (files, name, dice) => {
  const { check: _, ...fields } = JSON.parse(contentOf(files, name).toString()) as object & {
    check: string;
  };
  const forged = forgeJson(fields, dice) as object;
  const check = crc32(Buffer.from(canonicalJson(forged)))
    .toString(16)
    .padStart(8, '0');
  const isObject = typeof forged === 'object' && forged !== null && !Array.isArray(forged);
  files.set(name, Buffer.from(`${canonicalJson(isObject ? { ...forged, check } : forged)}\n`));
};

/** The tail of a file goes with its length. */
function resize(files: Files, name: string, bytes: Buffer, tail: 'docsBytes' | 'typesBytes'): void {
  files.set(name, bytes);
  changeCheckpoint(files, (body) => {
    const { tails, ...rest } = body as { tails: object };
    return { ...rest, tails: { ...tails, [tail]: bytes.length } };
  });
}

const forgeDocs: Forge = (files, name, dice) => {
  const bytes = contentOf(files, name);
  const places: { at: number; length: number }[] = [];
  for (let at = 32; at < bytes.length;) {
    const length = docRecordLength(bytes.subarray(at)) ?? bytes.length;
    places.push({ at, length });
    at += length;
  }
  const { at, length } = dice.pick(places);
  const record = bytes.subarray(at, at + length);
  const doc = decodeDocRecord(record);
  if (doc === undefined) throw new Error('the document cannot be read');
  const how = dice.below(4);
  if (how === 0) {
    putNumber(record, dice, 4, 28);
    return seal(record);
  }
  const named = { ...doc, ...(how === 1 && { name: dice.pick(NAMES) }) };
  const content =
    doc.content === undefined || how === 1
      ? doc.content
      : JSON.stringify(forgeJson(JSON.parse(doc.content), dice));
  const forged = Buffer.from(encodeDocRecord({ ...named, content }));
  // In the place of the old one, or behind all of them as the newest version.
  const isLast = dice.below(2) === 0;
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + length)];
  const newest = { ...named, content, version: doc.version + 1 };
  const parts = isLast ? [bytes, encodeDocRecord(newest)] : [before, forged, after];
  resize(files, name, Buffer.concat(parts), 'docsBytes');
};

const forgeTypes: Forge = (files, name, dice) => {
  const lines = contentOf(files, name).toString().split('\n');
  const at = dice.below(lines.length - 1);
  lines[at] = canonicalJson(forgeJson(JSON.parse(lines[at] ?? '{}'), dice));
  resize(files, name, Buffer.from(lines.join('\n')), 'typesBytes');
};

const forgePack: Forge = (files, name, dice) => {
  const bytes = contentOf(files, name);
  const places: Buffer[] = [];
  for (let at = 32; at + 52 <= bytes.length;) {
    const end = at + 52 + bytes.readUInt32LE(at + 12);
    if (end <= bytes.length) places.push(bytes.subarray(at, end));
    at = end;
  }
  if (places.length === 0) return;
  const record = dice.pick(places);
  const isList = record.readUInt16LE(6) === 2;
  if (dice.below(4) === 0) record.writeUInt16LE(dice.below(5), 6);
  else putNumber(record, dice, 4, isList && dice.below(2) === 0 ? record.length - 4 : 48);
  seal(record);
};

const forgeWhole: Forge = (files, name, dice) => forgeRecord(contentOf(files, name), dice);

const forgeOpenTurn: Forge = (files, name, dice) => {
  const bytes = contentOf(files, name);
  if (dice.below(2) === 0) return forgeRecord(bytes.subarray(0, 128), dice);
  const deltas: Buffer[] = [];
  for (let at = 128; at + 16 <= bytes.length;) {
    const end = at + 16 + bytes.readUInt32LE(at + 8);
    deltas.push(bytes.subarray(at, end));
    at = end;
  }
  const delta = dice.pick(deltas);
  putNumber(delta, dice, 0, 12);
  delta.writeUInt32LE(crc32(delta.subarray(16), crc32(delta.subarray(0, 12))), 12);
};

function forgeWrite(write: JournalWrite, dice: Dice, paths: readonly string[]): JournalWrite {
  const how = dice.below(5);
  if (how === 0) return { ...write, path: dice.pick([...NAMES, ...paths]) };
  if (how === 1) return { kind: 'remove', path: dice.pick([write.path, ...paths]) };
  if (how === 2) return { kind: 'whole', path: write.path, data: Buffer.alloc(dice.below(300), 7) };
  if (how === 3 || write.kind === 'remove' || write.kind === 'whole') {
    const place = { offset: dice.pick(SAFE), length: dice.pick(SAFE) };
    return { kind: 'extent', path: write.path, ...place };
  }
  return { ...write, offset: dice.pick(SAFE) };
}

const forgeJournal: Forge = (files, name, dice) => {
  const bytes = contentOf(files, name);
  const { store } = JSON.parse(contentOf(files, 'FORMAT').toString()) as { store: string };
  const salt = frameSaltOf(store);
  const frames: { at: number; end: number; seq: number; writes: JournalWrite[] }[] = [];
  for (let at = 0; at + FRAME_HEADER_BYTES <= bytes.length; at += FRAME_ALIGN_BYTES) {
    const body = at + FRAME_HEADER_BYTES;
    const header = decodeFrameHeader(bytes.subarray(at, body), salt);
    const writes =
      header && decodeFrameBody(header, bytes.subarray(body, body + header.bodyLength));
    if (writes === undefined) continue;
    const end = at + frameLength(writes.reduce((sum, write) => sum + encodedWriteLength(write), 0));
    frames.push({ at, end, seq: header?.seq ?? 0, writes });
  }
  if (frames.length === 0) return;
  const { at, end, seq, writes } = dice.pick(frames);
  const paths = frames.flatMap((frame) => frame.writes.map(({ path }) => path));
  const which = dice.below(writes.length);
  const forged = writes.map((write, n) => (n === which ? forgeWrite(write, dice, paths) : write));
  const frame = encodeFrame(seq, forged, salt);
  files.set(name, Buffer.concat([bytes.subarray(0, at), frame, bytes.subarray(end)]));
};

/** The files that are forged, by their names, and how. */
const FORGERS: readonly (readonly [RegExp, Forge])[] = [
  [/^(?:FORMAT|backup\.json)$/, forgeChecked],
  [/^journal\/checkpoint-a$/, forgeCheckpoint],
  [/^journal\/mark$/, fixed(20)],
  [/^journal\/[ab]\.wal$/, forgeJournal],
  [/^turns\/heads\.tbl$/, fixed(64)],
  [/^turns\/turns\.log$/, fixed(128)],
  [/^turns\/patches\.log$/, fixed(96)],
  [/^turns\/types\.jsonl$/, forgeTypes],
  [/^turns\/collected\.map$/, forgeWhole],
  [/^turns\/open\/\d+$/, forgeOpenTurn],
  [/^blobs\/pack-\d+\.pack$/, forgePack],
  [/^blobs\/(?:aliases|erased)\.log$/, fixed(72)],
  [/^docs\/docs\.log$/, forgeDocs],
  [/^extents\/.*\.ext$/, fixed(32)],
];

/** Undefined for a file that nothing but its reader depends on. */
export function forgerOf(name: string): Forge | undefined {
  return FORGERS.find(([names]) => names.test(name))?.[1];
}
