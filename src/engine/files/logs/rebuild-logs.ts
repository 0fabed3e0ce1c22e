import { QuipuError } from '../../../base/errors.ts';
import { EXTENTS_FOLDER, logOfExtents } from '../names.ts';
import { readExtent, readExtentLines, readLogState } from './line-log.ts';
import { walkFolder } from '../disk/walk-folder.ts';
import type { Rebuild } from '../index/rebuild.ts';

/** Indexes every log that has extents, each checked line by line against them. */
export async function rebuildLogs(rebuild: Rebuild): Promise<void> {
  for await (const path of walkFolder(rebuild.files, EXTENTS_FOLDER)) {
    const name = logOfExtents(path);
    if (name === undefined) continue;
    rebuild.index.setLog(name, false);
    await checkLog(rebuild, name);
    rebuild.index.maybeFlush();
  }
}

async function checkLog({ files, damage }: Rebuild, name: string): Promise<void> {
  try {
    const state = await readLogState(files, name);
    let before = await readExtent(files, name, -1);
    for (let index = 0; index < (state?.extents ?? 0); index += 1) {
      const extent = await readExtent(files, name, index);
      await readExtentLines(files, name, before, extent);
      before = extent;
    }
  } catch (error) {
    if (!(error instanceof QuipuError) || error.code !== 'CORRUPT') throw error;
    const { file, offset } = error.data as { file: string; offset: number };
    damage.add({ area: 'logs', file, offset, what: error.message });
  }
}
