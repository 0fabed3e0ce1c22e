import { join } from 'node:path';
import { isQuipuError } from '../../base/errors.ts';
import type { Io } from '../../engine/io.ts';
import { readHeader, withFile } from '../log/open-session-file.ts';
import { artifactsFolderOf, isSessionName } from '../log/session-names.ts';
import type { Registry, SessionRecord } from './registry.ts';

/**
 * Finds the sessions of agents that the store knows at `from` and whose files are in the artifacts of `file`. Where the
 * artifacts of one session go, the records of these sessions go with them.
 */
export async function childrenOf(
  { io, registry }: { io: Io; registry: Registry },
  from: string,
  file: string = from,
): Promise<SessionRecord[]> {
  const [old, folder] = [artifactsFolderOf(from), artifactsFolderOf(file)];
  if (old === undefined || folder === undefined) return [];
  if ((await io.stat(folder))?.kind !== 'folder') return [];
  const children: SessionRecord[] = [];
  for (const name of await io.list(folder)) {
    if (!isSessionName(name)) continue;
    const id = await idOf(io, join(folder, name));
    const known = id === undefined ? undefined : await registry.get(id);
    if (known?.file === join(old, name)) children.push({ id: known.id, file: join(folder, name) });
  }
  return children;
}

async function idOf(io: Io, path: string): Promise<string | undefined> {
  try {
    const { header } = await withFile(io, path, 'read', (file) => readHeader(file, path));
    return header.id;
  } catch (error) {
    if (isQuipuError(error)) return undefined;
    throw error;
  }
}
