import { QuipuError, isQuipuError } from '../../../base/errors.ts';
import { hashBytes } from '../../../base/hash.ts';
import { encodeUtf8 } from '../../../base/utf8.ts';
import type { Batch, PatchAppend } from '../../../engine/batch.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { PatchRow } from '../../../engine/rows.ts';

// The idempotency key of a patch. Engines know only keys of turns, so this key is a document, written in the commit of
// its patch. The document says what was asked for, and which patch on the turn was the newest before.

export interface PlannedPatch extends Batch {
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
export async function commitPatchOnce(
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
      const [row] = stored;
      if (row === undefined) throw new Error('a patch was stored and is not there');
      return row;
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
    `the key ${JSON.stringify(key)} stands for another patch on turn ${patch.turn}`,
    { context: '', key, turn: String(patch.turn) },
  );
}
