import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/engine/io.ts';
import { EntryWriter } from '../../src/session/log/entry-writer.ts';
import { parseLine } from '../../src/session/log/session-file.ts';
import { writeAll } from '../../src/session/files/write-file.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { lyingIo } from '../crash/lying-io.ts';

// Invariant: every entry whose append resolved is in the file, once, in the order of the calls, also after a crash.
// One whose append failed waits, and is written with the next; no line is ever glued to another, and nothing that
// fails once keeps later entries from being written.

const FILE = '/s/session.jsonl';
const HEADER = '{"type":"session","id":"s"}\n';
const IDS = ['e1', 'e2', 'e3', 'e4'];

function startDisk(): MemoryIo {
  return MemoryIo.from(new Map([[FILE, Buffer.from(HEADER)]]));
}

type Append = (id: string) => Promise<unknown>;

function writerOn(io: Io): Append {
  const size = HEADER.length;
  const options = { io, file: FILE, size, leaf: null, locate: async () => FILE, now: () => 't' };
  const writer = new EntryWriter(options);
  return (id) => writer.append({ type: 'message', id, text: 'x'.repeat(20) });
}

/** What one would write first: at the end of the file, whatever that is. */
function naiveOn(io: Io): Append {
  return async (id) => {
    const file = await io.open(FILE, 'write');
    try {
      const line = `${JSON.stringify({ type: 'message', id, text: 'x'.repeat(20) })}\n`;
      await writeAll(file, Buffer.from(line), await file.size());
      await file.sync();
    } finally {
      await file.close();
    }
  };
}

function read(disk: MemoryIo): { ids: unknown[]; malformed: boolean; text: string } {
  const content = disk.contentOf(FILE)!;
  const bytes = Buffer.alloc(content.length);
  content.read(bytes, 0);
  const text = bytes.toString('utf8');
  const lines = text
    .split('\n')
    .slice(1)
    .map((line) => parseLine(Buffer.from(line)));
  return {
    ids: lines.flatMap(({ records }) => records.map((record) => record['id'])),
    malformed: lines.some(({ malformed }) => malformed),
    text,
  };
}

async function fail(start: (io: Io) => Append): Promise<number> {
  const trial = new FaultIo(startDisk());
  const append = start(trial);
  for (const id of IDS) await append(id);
  const plans = planFaults(trial.trace, ['EIO', 'ENOSPC', 'SHORT_ENOSPC', 'EMFILE']);
  for (const plan of plans) {
    const disk = startDisk();
    const io = new FaultIo(disk, plan);
    const next = start(io);
    let failures = 0;
    for (const id of IDS) {
      if (id === 'e4') io.heal();
      await next(id).catch(() => failures++);
    }
    const { name, path } = trial.trace[plan.at - 1]!;
    const story = `${plan.kind} ${plan.times} at ${name} ${path}, ${failures} failures`;
    const { ids, malformed, text } = read(disk);
    expect(ids, story).toEqual(IDS);
    expect(malformed, story).toBe(false);
    expect(text.split('\n'), story).toHaveLength(IDS.length + 2);
  }
  return plans.length;
}

async function crash(wrap: (io: Io) => Io = (io) => io): Promise<number> {
  const { points } = await exploreCrashes<string>({
    seed: 3,
    statesPerPoint: 12,
    start: startDisk(),
    async run(disk, note) {
      const append = writerOn(wrap(disk));
      for (const id of IDS) {
        await append(id);
        note(id);
      }
    },
    async check(disk, facts) {
      // Whoever comes next repairs the tail and goes on.
      await disk.mkdir(dirname(FILE));
      await writerOn(disk)('next');
      const { ids, malformed } = read(disk);
      const own = ids.filter((id) => id !== 'next');
      expect(malformed).toBe(false);
      expect(own).toEqual(IDS.slice(0, own.length));
      expect(own.length).toBeGreaterThanOrEqual(facts.length);
      expect(ids.at(-1)).toBe('next');
    },
  });
  return points;
}

describe('appending to a session', () => {
  it('loses and repeats nothing, whichever operation fails', async () => {
    expect(await fail(writerOn)).toBeGreaterThan(100);
    await expect(fail(naiveOn)).rejects.toThrow(/ at /);
  });

  it('keeps what it acknowledged, wherever it crashes', async () => {
    expect(await crash()).toBeGreaterThan(8);
    await expect(crash((io) => lyingIo(io, { sync: async () => undefined }))).rejects.toThrow(
      /crash before/,
    );
  });
});
