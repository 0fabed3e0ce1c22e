import * as fs from 'node:fs';
import { expect } from 'vitest';
import { plainFilesIo } from '../../src/engine/files/disk/plain-files-io.ts';
import { Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { OutputSink } from '../../src/session/sink/output-sink.ts';

/** Begins this many outputs, gives them up at different moments, and counts what stayed open. */
export async function giveUpSinks(folder: string, count: number): Promise<number> {
  const artifacts = new Artifacts(plainFilesIo, `${folder}/a`);
  const countOpen = (): number => fs.readdirSync('/proc/self/fd').length;
  const before = countOpen();
  for (let round = 0; round < count; round++) {
    const artifact = (): ReturnType<Artifacts['openDraft']> => artifacts.openDraft('bash');
    const sink = new OutputSink({ artifact, spillThreshold: 1 });
    void sink.push('some output');
    if (round % 2 === 0) await sink.push('more');
    // While it is opened, once it is open, and with a block on its way to the disk.
    if (round % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (round % 50 === 0) await sink.push('x'.repeat(2_000_000));
    await sink.dispose();
    await sink.dispose();
    await sink.push('ignored');
  }
  expect(await artifacts.listFiles()).toEqual([]);
  expect(fs.readdirSync(artifacts.folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  return countOpen() - before;
}
