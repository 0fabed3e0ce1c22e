import type { TakenPart, TakenTurn } from '../source/source.ts';
import { externalise, type BlobBytes, type BlobForm } from './externalise.ts';

// The payload of an imported turn: docs/format/import.md. The records stand in it as they were found, byte for byte,
// so that each can be printed again. Only where a value became a blob is the record written anew.

/** A turn that is not stored yet. */
export interface PlannedTurn {
  readonly type: string;
  readonly payload: Uint8Array;
  readonly blobs: readonly BlobBytes[];
}

/** A text beside the session that a record has only the beginning of. */
export interface Attached {
  /** The place of the beginning; absent for a blob that the record refers to itself. */
  readonly pointer?: string;
  readonly blob: BlobBytes;
}

/** `parts` are the records that are new: those that an earlier import has not seen. */
export function planTurn(
  source: string,
  turn: TakenTurn,
  parts: readonly TakenPart[],
  attached: readonly Attached[],
): PlannedTurn {
  const { head, heavy = [] } = turn;
  const places: [string, BlobForm][] = [];
  const blobs: BlobBytes[] = attached.map(({ blob }) => blob);
  const keepsText = head.role === 'user';
  const raws = parts.map(({ raw, value }, index) => {
    const made = externalise({ raw, value, keepsText, heavy });
    for (const [pointer, form] of made.places) places.push([`/records/${index}${pointer}`, form]);
    blobs.push(...made.blobs);
    return made.raw;
  });
  const texts = attached.filter(({ pointer }) => pointer !== undefined);
  const before = {
    ...head,
    ...(places.length > 0 && { blobs: places }),
    ...(texts.length > 0 && {
      attached: texts.map(({ pointer = '', blob }) => [
        `/records/0${pointer}`,
        `blob:sha256:${blob.sha256}`,
      ]),
    }),
  };
  const fields = JSON.stringify(before).slice(1, -1);
  const text = `{${fields}${fields === '' ? '' : ','}"records":[${raws.join(',')}]}`;
  return { type: `import.${source}.${turn.what}`, payload: Buffer.from(text), blobs };
}
