import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { copyStore } from '../../src/copy-store.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres-engine.ts';
import { copyEngine } from '../../src/maintain/copy/copy-engine.ts';
import { openStore } from '../../src/open-store.ts';
import { cutAfter, expectEqual, fillSource } from '../copy/copy-rig.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

/*
 * Invariant: a store that went from a folder to a database and from there to another folder, cut off and resumed
 * on both ways, is the store that it was: every record, every byte, and `verify` finds nothing.
 */
it(
  'goes from files to a database and back, cut off again and again',
  { timeout: 90_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-copy-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const url = await freshDatabase();
    const source = await openFilesEngine(join(folder, 'one'));
    await fillSource(source);
    let cuts = 0;
    for (let writes = 1; cuts < 100; writes = 3 - writes) {
      // Each run has a process of its own, so to speak: nothing of the one before is in memory.
      const target = await openPostgresEngine(url, { connections: 4 });
      const isCut = await copyEngine(source, cutAfter(target, writes)).then(
        () => false,
        () => true,
      );
      if (!isCut) await expectEqual(source, target);
      await target.close();
      if (!isCut) break;
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(4);
    await source.close();
    {
      await using store = await openStore(url);
      await store.queues.open('jobs');
    }
    const stopped = AbortSignal.abort(new Error('stopped'));
    const back = join(folder, 'two');
    await expect(copyStore(url, back, { signal: stopped })).rejects.toThrow('stopped');
    const report = await copyStore(url, back);
    expect(report).toMatchObject({ turns: 5, contexts: 3, patches: 5 });
    expect(report.leftOut).toMatchObject([{ what: 'queues', count: 1 }]);
    const [first, last] = [
      await openFilesEngine(join(folder, 'one')),
      await openFilesEngine(join(folder, 'two')),
    ];
    await expectEqual(first, last);
    await last.close();
    await first.close();
  },
);
