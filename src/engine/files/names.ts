// The names of the store's own files, relative to its folder. docs/format/store.md draws the tree.

export const FORMAT_FILE = 'FORMAT';
export const LOCK_FILE = 'lock.db';
export const INDEX_FILE = 'index.db';
export const TURNS_FILE = 'turns/turns.log';
export const HEADS_FILE = 'turns/heads.tbl';
export const PATCHES_FILE = 'turns/patches.log';
export const TYPES_FILE = 'turns/types.jsonl';
export const ALIASES_FILE = 'blobs/aliases.log';
export const COLLECTED_FILE = 'turns/collected.map';
export const ERASED_FILE = 'blobs/erased.log';
export const DOCS_FILE = 'docs/docs.log';
/** Only a backup has this file. */
export const NOTE_FILE = 'backup.json';
/** Marks a folder in which a restore did not finish. */
export const UNFINISHED_FILE = 'restore.unfinished';
export const JOURNAL_FOLDER = 'journal';
/** Holds no data. See reserve.ts. */
export const RESERVE_FILE = 'journal/reserve';
export const OPEN_FOLDER = 'turns/open';
export const PACKS_FOLDER = 'blobs';
export const EXTENTS_FOLDER = 'extents';

/** Folders made when a store is created, parents first. */
export const FOLDERS: readonly string[] = [
  JOURNAL_FOLDER,
  PACKS_FOLDER,
  'turns',
  OPEN_FOLDER,
  'docs',
  EXTENTS_FOLDER,
];

export function packFile(number: number): string {
  return `${PACKS_FOLDER}/pack-${String(number).padStart(6, '0')}.pack`;
}

/** The number of a pack file; undefined for any other name. */
export function packNumber(name: string): number | undefined {
  const match = /^blobs\/pack-(\d{6,})\.pack$/.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export function openTurnFile(turn: number): string {
  return `${OPEN_FOLDER}/${turn}`;
}

/** The turn of an open-turn file; undefined for any other name. */
export function openTurnNumber(name: string): number | undefined {
  const match = /^turns\/open\/(\d+)$/.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export function extentsFile(log: string): string {
  return `${EXTENTS_FOLDER}/${log}.ext`;
}

/** The log that an extents file describes; undefined for any other name. */
export function logOfExtents(name: string): string | undefined {
  return name.startsWith(`${EXTENTS_FOLDER}/`) && name.endsWith('.ext')
    ? name.slice(EXTENTS_FOLDER.length + 1, -4)
    : undefined;
}
