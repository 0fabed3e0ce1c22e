import { isQuipuError } from '../../../base/errors.ts';
import { walkFolder } from '../disk/walk-folder.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import type { Truth } from '../truth/truth.ts';
import { checkLogs } from './check-logs.ts';
import { copyLogs } from './copy-logs.ts';
import {
  EXTENTS_FOLDER,
  extentsFile,
  logOfExtents,
  readExtent,
  readExtentLines,
  readLogState,
} from './line-log.ts';
import { mendLog } from './mend-log.ts';

// Logs: plain files of JSON lines, each with a file of extents.                      docs/format/docs-and-logs.md
// Invariants
// - Both files of a log grow in the same frame: one extent for the lines of one append.
// - An extent proves its lines. A line that no extent proves is never returned.
// - A name without extents is no log, even where a plain file has that name.

export const LOGS: Truth = {
  name: 'logs',
  folders: [EXTENTS_FOLDER],
  files: [],
  owns: (path) => logOfExtents(path) !== undefined,
  // Each log knows its own end.
  lengths: () => [],
  advance: (tails) => tails,
  replay({ index }, { kind, path }) {
    const log = logOfExtents(path);
    if (log !== undefined) index.setLog(log, kind === 'remove');
  },
  rebuild: rebuildLogs,
  check: checkLogs,
  mend: {
    after: 'nothing',
    async run({ writer, found, quarantine }) {
      const names = found.flatMap(({ file, id, severity }) =>
        severity === 'lost' && id !== undefined && (file === id || file === extentsFile(id))
          ? [id]
          : [],
      );
      for (const name of new Set(names)) await mendLog(writer, name, quarantine);
    },
  },
  copy: copyLogs,
};

/** Indexes every log that has extents, each checked line by line against them. */
async function rebuildLogs({ files, index, damage }: Rebuild): Promise<void> {
  for await (const path of walkFolder(files, EXTENTS_FOLDER)) {
    const name = logOfExtents(path);
    if (name === undefined) continue;
    index.setLog(name, false);
    try {
      const state = await readLogState(files, name);
      let before = await readExtent(files, name, -1);
      for (let at = 0; at < (state?.extents ?? 0); at += 1) {
        const extent = await readExtent(files, name, at);
        await readExtentLines(files, name, before, extent);
        before = extent;
      }
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      const { file, offset } = error.data;
      damage.add({ area: 'logs', file, offset, what: error.message });
    }
    index.maybeFlush();
  }
}
