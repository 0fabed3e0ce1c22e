import { describe, expect, it } from 'vitest';
import { type BackupNote, type BackupState, decodeNote, encodeNote } from './backup-note.ts';

const TAILS: BackupState['tails'] = {
  nextTurn: 3,
  nextContext: 2,
  nextPatch: 1,
  nextAlias: 1,
  docsBytes: 32,
  typesBytes: 60,
  nextPack: 3,
  packs: [
    { number: 1, bulk: false, length: 100, records: 2 },
    { number: 2, bulk: true, length: 32, records: 0 },
  ],
  timeMs: 5,
};
const STATE: BackupState = {
  frame: 9,
  at: '2026-01-02T03:04:05.000Z',
  seq: 4,
  tails: TAILS,
  openTurns: [2],
  packs: [{ number: 1, length: 128 }],
  logs: 0,
  collectedBytes: 0,
  erased: 1,
};
const NOTES: readonly BackupNote[] = [
  { store: '01J', wholePacks: true },
  { store: '01J', folder: 'f', wholePacks: false, whole: STATE },
  { store: '01J', wholePacks: true, whole: { ...STATE, id: 's' } },
];

describe('the note of a backup', () => {
  it.each(NOTES)('is read as it was written %#', (note) => {
    expect(decodeNote(encodeNote(note))).toEqual(note);
  });

  it('is not taken when a byte is different or missing', () => {
    const bytes = encodeNote(NOTES[1] ?? { store: '' });
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(decodeNote(changed), `byte ${at}`).toBeUndefined();
      expect(decodeNote(bytes.subarray(0, at)), `cut at ${at}`).toBeUndefined();
    }
  });

  it.each([
    { store: 7 },
    { folder: 7 },
    { wholePacks: [] },
    { whole: {} },
    { whole: { ...STATE, packs: [null] } },
    { whole: { ...STATE, openTurns: [-1] } },
    { whole: { ...STATE, tails: { ...TAILS, nextTurn: 2 ** 50 } } },
    { whole: { ...STATE, tails: { ...TAILS, packs: [{ number: 1 }] } } },
  ])('is not taken with other fields, though its checksum is right %#', (change) => {
    const note = { store: '01J', ...change };
    expect(decodeNote(encodeNote(note as unknown as BackupNote))).toBeUndefined();
  });
});
