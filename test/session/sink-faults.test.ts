import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { OutputSink } from '../../src/session/sink/output-sink.ts';
import { plainFilesIo } from '../../src/engine/files/plain-files-io.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import type { Io } from '../../src/engine/io.ts';
import { useSessionRig } from './rig.ts';

// Invariant: an id in a summary means that every byte of the sanitised output is in the file of that id. Whatever
// fails on the way, what is shown is right, and no half file is left.

const rig = useSessionRig();
const CHUNKS = Array.from({ length: 6 }, (_, n) => `line ${n} of the output\n`);

async function run(io: Io, cap = 0): Promise<Awaited<ReturnType<OutputSink['dump']>>> {
  const artifacts = new Artifacts(io, '/a');
  const artifact = (): ReturnType<Artifacts['openDraft']> => artifacts.openDraft('bash');
  const sink = new OutputSink({ artifact, spillThreshold: 30, artifactMaxBytes: cap });
  for (const chunk of CHUNKS) await sink.push(chunk);
  return sink.dump();
}

function textsIn(io: MemoryIo): string[] {
  const paths = io.paths().filter((path) => /^a\/\d/.test(path) || path.endsWith('.part'));
  return paths.map((path) => {
    const content = io.contentOf(path)!;
    const bytes = Buffer.alloc(content.length);
    content.read(bytes, 0);
    return bytes.toString('utf8');
  });
}

describe('an output whose file cannot be written', () => {
  it.each([0, 60])('is shown all the same, and has no id (limit %d)', async (cap) => {
    const trial = new FaultIo(new MemoryIo());
    const good = await run(trial, cap);
    expect(good.artifactId).toBe('0');
    let failed = 0;
    for (const plan of planFaults(trial.trace, ['EIO', 'SHORT_ENOSPC', 'EMFILE'])) {
      const disk = new MemoryIo();
      const io = new FaultIo(disk, plan);
      const summary = await run(io, cap);
      const { artifactId, artifactError, ...rest } = summary;
      const story = `${plan.kind} ${plan.times} at ${JSON.stringify(trial.trace[plan.at - 1])}`;
      expect({ ...rest, artifactId: '0' }, story).toEqual(good);
      // A disk that fails for ever keeps what could not be removed; a limit leaves other bytes.
      const isKnown = artifactId === undefined ? plan.times === 'once' : cap === 0;
      const texts = isKnown ? textsIn(disk) : undefined;
      const whole = artifactId === undefined ? [] : [CHUNKS.join('')];
      expect(texts, story).toEqual(isKnown ? whole : undefined);
      const reason = artifactId === undefined ? artifactError : 'open: none';
      expect(reason, story).toMatch(/^(?:open|write|flush|close): /);
      failed += artifactId === undefined ? 1 : 0;
    }
    expect(failed).toBeGreaterThan(10);
  });

  it('leaves nothing open when it is given up', async () => {
    const { folder } = await rig();
    const artifacts = new Artifacts(plainFilesIo, `${folder}/a`);
    const count = (): number => fs.readdirSync('/proc/self/fd').length;
    const before = count();
    for (let round = 0; round < 40; round++) {
      const artifact = (): ReturnType<Artifacts['openDraft']> => artifacts.openDraft('bash');
      const sink = new OutputSink({ artifact, spillThreshold: 1 });
      void sink.push('some output');
      if (round % 2 === 0) await sink.push('more');
      await sink.dispose();
      await sink.dispose();
      await sink.push('ignored');
    }
    expect(count()).toBe(before);
    expect(await artifacts.listFiles()).toEqual([]);
  });
});
