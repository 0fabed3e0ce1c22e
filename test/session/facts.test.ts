import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { BlobFiles } from '../../src/session/entries/blob-files.ts';
import { createSessions } from '../../src/session/create-sessions.ts';
import { persistEntry } from '../../src/session/entries/pictures.ts';
import { EntryWriter } from '../../src/session/log/entry-writer.ts';
import { RamIo } from '../../src/session/files/ram-io.ts';
import { elisionMarker, formatSize } from '../../src/session/sink/output-window.ts';
import { OutputSink } from '../../src/session/sink/output-sink.ts';
import type { Sessions } from '../../src/session/sessions.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { OLD, move, startDisk, homeOf } from './carry-scene.ts';
import { picture } from '../../src/testing/session-suite/fixture.ts';
import { useSessionRig } from './rig.ts';

// Promises of sessions that no other test speaks of.

const rig = useSessionRig();

describe('files of a session', () => {
  it('say so when neither artifacts nor the way back can be moved', async () => {
    const disk = startDisk();
    const io = { ...lyingIo(disk, {}) };
    io.link = async () => {
      throw Object.assign(new Error('first'), { code: 'EIO' });
    };
    io.remove = async () => {
      throw new Error('second');
    };
    await expect(move(await homeOf(io))).rejects.toThrow(
      'Failed to move artifacts and rollback: second',
    );
    expect(disk.paths()).toContain(OLD.slice(1));
  });
});

describe('a blob', () => {
  it('is durable before the line that names it, or the line is not written', async () => {
    const header = '{"type":"session","id":"s"}\n';
    const file = '/s/session.jsonl';
    const disk = MemoryIo.from(new Map([[file, Buffer.from(header)]]));
    const sizes: number[] = [];
    const writer = new EntryWriter({
      io: disk,
      file,
      size: header.length,
      leaf: null,
      locate: async () => file,
      now: () => 't',
      putBlobs: async () => {
        sizes.push(disk.contentOf(file)!.length);
        if (sizes.length === 1) throw new Error('no room for blobs');
      },
    });
    await expect(writer.append(picture(Buffer.alloc(900)))).rejects.toThrow('no room for blobs');
    expect(disk.contentOf(file)!.length).toBe(header.length);
    await writer.append({ type: 'message', id: 'next' });
    expect(sizes.slice(0, 2)).toEqual([header.length, header.length]);
    const bytes = Buffer.alloc(disk.contentOf(file)!.length);
    disk.contentOf(file)!.read(bytes, 0);
    expect(bytes.toString().trim().split('\n')).toHaveLength(3);
  });

  it('as a file that cannot be read is an error, not a missing one', async () => {
    const { folder } = await rig();
    fs.writeFileSync(join(folder, 'file'), '');
    const files = new BlobFiles(join(folder, 'file'));
    await expect(files.get('0'.repeat(64))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});

describe('an output', () => {
  it('keeps its producer waiting for a slow disk, in bounded memory', async () => {
    const io = new RamIo();
    const artifacts = new Artifacts(io, '/a');
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const slow = lyingIo(io, {
      write: async (file, _, { bytes, position }) => {
        await gate;
        return file.write(bytes, position);
      },
    });
    const slowly = new Artifacts(slow, '/a');
    const sink = new OutputSink({ artifact: () => slowly.openDraft('bash') });
    const chunk = 'x'.repeat(65_535) + '\n';
    let pushed = 0;
    for (let isWaiting = false; !isWaiting; pushed++) {
      const taken = sink.push(chunk).then(() => true);
      const later = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20));
      isWaiting = !(await Promise.race([taken, later]));
    }
    expect(pushed * chunk.length).toBeLessThan(4_000_000);
    letGo();
    const { artifactId, totalBytes } = await sink.dump();
    expect(totalBytes).toBe(pushed * chunk.length);
    const file = await io.open(`/a/${artifactId}.bash.log`, 'read');
    expect(await file.size()).toBe(totalBytes);
    expect(await artifacts.listIds()).toEqual(['0']);
  });

  it('says how much is left out in words for people', () => {
    expect(elisionMarker(1_234_567, 5 * 1024 ** 2)).toBe('[… 1,234,567 lines elided (5.0MB) …]');
    expect(elisionMarker(1, 512)).toBe('[… 1 line elided (512B) …]');
    expect(elisionMarker(0, 4096)).toBe('[… 4.0KB elided …]');
    expect([1023, 1024, 1024 ** 3].map(formatSize)).toEqual(['1023B', '1.0KB', '1.0GB']);
  });
});

describe('an entry', () => {
  it('keeps signatures that are short as they are', () => {
    const entry = { thinkingSignature: 's'.repeat(500_000), textSignature: 'é' };
    expect(persistEntry(entry).entry).toBe(entry);
  });
});

describe('listing and opening', () => {
  it('read a small part of a large file', async () => {
    let readBytes = 0;
    const lines = Array.from({ length: 5000 }, (_, n) =>
      JSON.stringify({ type: 'message', id: `e${n}`, parentId: null, text: 'x'.repeat(1000) }),
    );
    const header = { type: 'session', version: 3, id: 'big', timestamp: 't', cwd: '/' };
    const file = '/all/2026-11-15T10-00-00-000Z_big.jsonl';
    const text = `${[JSON.stringify(header), ...lines].join('\n')}\n`;
    const disk = MemoryIo.from(new Map([[file, Buffer.from(text)]]));
    const io = lyingIo(disk, {
      read: async (opened, _, { into, position }) => {
        readBytes += into.length;
        return opened.read(into, position);
      },
    });
    const engine = new ModelEngine();
    const given = { io, engine, clock: () => 0, root: '/all' };
    const sessions: Sessions = createSessions({ ...given, onClose: () => undefined });
    const cost = async (work: () => Promise<unknown>): Promise<number> => {
      readBytes = 0;
      await work();
      return readBytes;
    };
    // The first time, all of it: the store has to know which blobs a file from elsewhere needs.
    expect(await cost(() => sessions.open(file))).toBeGreaterThan(5_000_000);
    expect(await cost(() => sessions.open(file))).toBeLessThan(700_000);
    expect(await cost(() => sessions.list())).toBeLessThan(700_000);
    const session = await sessions.open('big');
    expect(await cost(() => session.last(50))).toBeLessThan(700_000);
    expect(await cost(() => session.load())).toBeGreaterThan(5_000_000);
    await engine.close();
  });
});
