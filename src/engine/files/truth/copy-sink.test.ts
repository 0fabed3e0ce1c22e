import { describe, expect, it } from 'vitest';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { CopySink } from './copy.ts';
import { RedoFrame } from '../journal/redo-frame.ts';

const BYTES = Buffer.from('0123456789');

async function openCopy(): Promise<StoreFiles> {
  const io = new MemoryIo();
  await io.mkdir('/copy');
  await io.mkdir('/copy/journal');
  return new StoreFiles(io, '/copy');
}

describe('a sink', () => {
  it('writes straight only what lies beyond what counts', async () => {
    const files = await openCopy();
    const redo = new RedoFrame(files);
    const sink = new CopySink(files, redo, new Map([['turns/turns.log', 14]]));
    await sink.put('turns/turns.log', 20, BYTES);
    expect(redo.empty).toBe(true);
    await sink.put('turns/turns.log', 10, BYTES);
    expect(redo.empty).toBe(false);
    const written = await files.read('turns/turns.log', 0, 100);
    expect(Buffer.from(written).toString('latin1')).toBe(`${'\0'.repeat(14)}4567890123456789`);
    expect(sink.copiedBytes).toBe(20);
    expect(sink.touchedFiles).toBe(1);
  });

  it('changes nothing at once in files that count as a whole', async () => {
    const files = await openCopy();
    const redo = new RedoFrame(files);
    const sink = new CopySink(files, redo);
    await sink.put('logs/a', 0, BYTES);
    await sink.replace('a.json', BYTES);
    await sink.remove('b.json');
    expect(await files.size('logs/a')).toBe(0);
    expect(await files.size('a.json')).toBe(0);
    expect(redo.empty).toBe(false);
  });

  it('writes everything straight into a folder that is not in use', async () => {
    const files = await openCopy();
    const sink = new CopySink(files);
    await sink.put('logs/a', 0, BYTES);
    await sink.replace('a.json', BYTES);
    expect(await files.size('logs/a')).toBe(10);
    expect(await files.size('a.json')).toBe(10);
    await sink.remove('a.json');
    expect(await files.size('a.json')).toBe(0);
  });
});
