import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { locked } from '../../../base/errors.ts';
import type { Io } from '../../io.ts';
import { takeExclusiveLock } from './owner-lock.ts';
import { nodeIo } from './node-io.ts';

/**
 * The real disk for files outside the store. Links are seen as links and never followed. A lock is a file of its
 * own that says nothing about its holder.
 */
export const plainFilesIo: Io = {
  ...nodeIo,

  async stat(path) {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other';
    return { kind, size: stat.size, changedMs: stat.ctimeMs };
  },

  async realpath(path) {
    const rest: string[] = [];
    for (let at = resolve(path); ; at = dirname(at)) {
      try {
        return join(fs.realpathSync(at), ...rest);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(at) === at) throw error;
        rest.unshift(basename(at));
      }
    }
  },

  async lock(path) {
    const unlock = takeExclusiveLock(path, 0);
    if (unlock === undefined) {
      throw locked(path, 'another process or task', `another process or task holds ${path}`);
    }
    let held = true;
    return {
      async release() {
        if (held) unlock();
        held = false;
      },
    };
  },
};
