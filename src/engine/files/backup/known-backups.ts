import { isFields } from '../../../base/fields.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { decodeChecked, encodeChecked } from './backup-note.ts';

// journal/backups: what the store has made of the folders that it was backed up to. The file is in every backup, and a
// restore brings it back. So a store that was restored from an older backup does not know the states of a newer one,
// whatever the two differ in. The file holds nothing else: if it is lost, the next backup goes to another folder.

export const KNOWN_FILE = 'journal/backups';
const BYTES_MAX = 64 * 1024;
/** The folders that a store remembers. */
const FOLDERS_MAX = 256;

/** The last states of each folder, by the id of the folder. The last one may be unfinished. */
export type KnownBackups = Readonly<Record<string, readonly string[]>>;

/** Empty when there is no such file, or none that can be read. */
export async function readKnown(files: StoreFiles): Promise<KnownBackups> {
  const length = Math.min(await files.size(KNOWN_FILE), BYTES_MAX);
  const folders = decodeChecked(await files.read(KNOWN_FILE, 0, length))?.['folders'];
  if (!isFields(folders) || !Object.values(folders).every(areIds)) return {};
  return folders as KnownBackups;
}

function areIds(value: unknown): boolean {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

export function encodeKnown(known: KnownBackups): Uint8Array {
  return encodeChecked({ folders: known });
}

/** With the states of one folder. Of many folders, those that were first are forgotten. */
export function withStates(
  known: KnownBackups,
  folder: string,
  states: readonly string[],
): KnownBackups {
  const others = Object.entries(known).filter(([other]) => other !== folder);
  return Object.fromEntries([...others.slice(1 - FOLDERS_MAX), [folder, states]]);
}
