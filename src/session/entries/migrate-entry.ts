import { SESSION_VERSION } from './session-entry.ts';
import type { SessionEntry } from './session-entry.ts';

type Fields = Record<string, unknown>;

/** Lines of version 1 have no ids: their place in the file, with the header at 0, is their name. */
export function idOfLine(index: number): string {
  return `line-${index}`;
}

export interface LineOfFile {
  /** The version in the header; absent means 1. */
  readonly version: number | undefined;
  /** The place of the line, counted from the header, which is 0. Only version 1 needs it. */
  readonly index: number;
}

/**
 * Reads a line of any version as an entry of the newest. Files are never rewritten for it. Lines of a newer version,
 * and of unknown types, are left as they are.
 */
export function migrateEntry(record: Fields, { version = 1, index }: LineOfFile): SessionEntry {
  let fields = record;
  if (version < 2) fields = nameByPlace(fields, index);
  if (version < SESSION_VERSION) fields = renameHookMessage(fields);
  return fields as unknown as SessionEntry;
}

/** Version 2 made the list a tree. A compaction points at the first entry it keeps by that entry's id. */
function nameByPlace(fields: Fields, index: number): Fields {
  const { firstKeptEntryIndex, ...rest } = fields;
  const parentId = index <= 1 ? null : idOfLine(index - 1);
  const kept =
    typeof firstKeptEntryIndex === 'number' && firstKeptEntryIndex > 0
      ? { firstKeptEntryId: idOfLine(firstKeptEntryIndex) }
      : {};
  return { id: idOfLine(index), parentId, ...rest, ...kept };
}

/** Version 3 renames the role of messages of extensions from `hookMessage` to `custom`. */
function renameHookMessage(fields: Fields): Fields {
  const { message } = fields;
  if (fields['type'] !== 'message' || typeof message !== 'object' || message === null) {
    return fields;
  }
  if ((message as Fields)['role'] !== 'hookMessage') return fields;
  return { ...fields, message: { ...message, role: 'custom' } };
}
