import { isFields } from '../../base/fields.ts';
import { toHash, type Hash } from '../../base/brand.ts';
import { corrupt } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { HELD_FOLDER, newId } from './names.ts';

// A blob that was put and is not named by a chat yet could be collected. A document that names the blob keeps it until
// the commit that needs it has been made. A document that a crash left behind counts for a day.

const HELD_MS_MAX = 86_400_000;

export interface Held {
  readonly at: string;
  readonly hashes: readonly Hash[];
}

/** Keeps these blobs while `work` makes something refer to them. */
export async function holdBlobs<T>(
  engine: Engine,
  hashes: readonly Hash[],
  nowMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const name = `${HELD_FOLDER}${newId(nowMs)}.json`;
  const held: Held = { at: new Date(nowMs).toISOString(), hashes };
  await engine.commit({ docs: [{ name, content: JSON.stringify(held), expectedVersion: 0 }] });
  try {
    return await work();
  } finally {
    await engine.commit({ docs: [{ name, content: undefined }] });
  }
}

/** Throws CORRUPT for anything else: a held blob must not be removed because its document is not understood. */
export function parseHeld(content: string): Held {
  const value: unknown = JSON.parse(content);
  const { at, hashes } = (isFields(value) ? value : {}) as { at?: unknown; hashes?: unknown };
  const isTime = typeof at === 'string' && !Number.isNaN(Date.parse(at));
  if (isTime && Array.isArray(hashes)) {
    return { at, hashes: (hashes as string[]).map((hash) => toHash(hash)) };
  }
  throw corrupt(HELD_FOLDER, 'a document of held blobs does not say which, or since when');
}

export function isHeld({ at }: Held, nowMs: number): boolean {
  return nowMs - Date.parse(at) < HELD_MS_MAX;
}
