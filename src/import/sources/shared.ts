import { basename } from 'node:path';
import { countAt, isObject } from '../source/fields.ts';
import type { RecordReader, SourceRecord, Taken, Usage } from '../source/source.ts';
import { statPlace, walkFolder } from '../source/walk-folder.ts';
import type { FoundFile } from '../source/walk-folder.ts';

// Steps that several sources share.

const TITLE_CHARS = 80;

/** Tokens as the interfaces of models count them. */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  return {
    input: countAt(usage, 'input_tokens'),
    output: countAt(usage, 'output_tokens'),
    cacheRead: countAt(usage, 'cache_read_input_tokens'),
    cacheWrite: countAt(usage, 'cache_creation_input_tokens'),
  };
}

/** The first thing that a person said is the title of a session without another one. */
export function titleOf(text: string): Taken[] {
  const cut = Array.from(text.trim().slice(0, 4 * TITLE_CHARS))
    .slice(0, TITLE_CHARS)
    .join('');
  return cut === '' ? [] : [{ do: 'details', details: { title: { text: cut, from: 'text' } } }];
}

/** A reader for records that each tell everything about themselves. */
export function readAlone(take: (record: SourceRecord) => readonly Taken[]): RecordReader {
  return { heldFrom: undefined, save: () => null, end: () => [], take };
}

/** The file that a person named, whatever its name, or the files of a folder whose names fit. */
export async function* filesAt(place: string, fits: RegExp): AsyncGenerator<FoundFile> {
  const found = await statPlace(place);
  if (found === undefined) return;
  if (found.isFolder) yield* walkFolder(found.path, (name) => fits.test(name));
  else yield { ...found, name: basename(found.path) };
}
