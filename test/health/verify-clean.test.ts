import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Batch } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { CheckReport, Problem } from '../../src/engine/upkeep.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  append,
  appendLines,
  createContext,
  openTurn,
  patchTurn,
  sealTurn,
  turnOf,
  writeDelta,
} from '../../src/testing/engine-suite/fixture.ts';
import { type Step, steps, toBatch } from '../../src/testing/engine-suite/random-batch.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { openStore } from '../crash/open-store.ts';

// Invariant: a store that nothing damaged verifies clean, whatever was done to it, and also while it is
// being written to. A false alarm would teach people to ignore the true ones.

const ROOT = turnOf({ created: 0 }, 'root');
const START: Batch = {
  blobs: [ROOT.blob],
  contexts: [{ do: 'create' }, { do: 'create' }, { do: 'create' }],
  turns: [ROOT.turn, { ...ROOT.turn, context: { created: 1 } }],
};

interface Target {
  open(): Promise<Engine>;
  remove(): Promise<void>;
}

describe('a store that nothing damaged', { timeout: 120_000 }, () => {
  it('verifies clean after anything, and while it goes on', async () => {
    await fc.assert(
      fc.asyncProperty(steps(true), async (sequence) => {
        expect(await live(sequence, inMemory())).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it('verifies clean on a real disk, with the real index', async () => {
    await fc.assert(
      fc.asyncProperty(steps(true), async (sequence) => {
        expect(await live(sequence, await inFolder())).toEqual([]);
      }),
      { numRuns: 5 },
    );
  });

  it('verifies clean again and again while many write to it', async () => {
    const target = await inFolder();
    const engine = await target.open();
    let writing = true;
    const writers = Array.from({ length: 8 }, async (_, at) => {
      while (writing) await writeSome(engine, at);
    });
    let turns = 0;
    for (const end = Date.now() + 2000; Date.now() < end || turns <= 20;) {
      const report = await engine.upkeep.check({ repair: false });
      expect(report.problems).toEqual([]);
      turns = report.checked.turns;
    }
    writing = false;
    await Promise.all(writers);
    await engine.close();
    await target.remove();
  });
});

/**
 * Takes the steps with a check always under way, and one at rest before each reopening. Returns what the
 * last check found.
 */
async function live(sequence: readonly Step[], target: Target): Promise<readonly Problem[]> {
  const model = new ModelEngine({ clock: () => 1000 });
  let engine = await target.open();
  const commit = async (batch: Batch): Promise<void> => {
    await attempt(model, batch);
    await attempt(engine, batch);
  };
  try {
    await commit(START);
    let running = engine.upkeep.check({ repair: false });
    for (const [at, step] of sequence.entries()) {
      if (step.do === 'commit') await commit(toBatch(model.state, step));
      if (step.do === 'wait') await putLarge(engine, at);
      if (step.do === 'checkpoint') await engine.checkpoint();
      if (step.do === 'reopen') {
        expectClean(await running);
        expectClean(await engine.upkeep.check({ repair: false }));
        await engine.close();
        engine = await target.open();
        model.interruptOpenTurns();
        running = engine.upkeep.check({ repair: false });
      }
      if (at % 5 === 4) {
        expectClean(await running);
        running = engine.upkeep.check({ repair: false });
      }
    }
    expectClean(await running);
    const report = await engine.upkeep.check({ repair: true });
    expectClean(report);
    expect(report.checked.turns).toBe((await engine.stats()).turns);
    expect(report.checked.blobs).toBe((await engine.stats()).blobs);
    return report.problems;
  } finally {
    await engine.close();
    await target.remove();
  }
}

/** One of everything, with texts that grow, logs that go and come, and a turn that is streamed. */
async function writeSome(engine: Engine, at: number): Promise<void> {
  const { id } = await createContext(engine, { meta: { title: `writer ${at}` } });
  const log = `logs/${at}`;
  const doc = {
    name: `out/${at}.json`,
    content: JSON.stringify({ id: String(id) }),
    publish: true,
  };
  const { id: turn } = await append(engine, id, `by ${at} in ${id}`);
  await Promise.all([
    appendLines(engine, log, '"a line"', '"another"'),
    engine.commit({ docs: [doc] }),
    patchTurn(engine, turn, 'better'),
  ]);
  const open = await openTurn(engine, id);
  for (let n = 0; n < 5; n += 1) await writeDelta(engine, open.id, n * 4, 'word');
  await sealTurn(engine, open.id, 'word'.repeat(5));
  await engine.commit({ logs: [{ do: 'remove', name: log }] });
}

function expectClean(report: CheckReport): void {
  expect(report.problems).toEqual([]);
  expect(report.more).toBe(0);
  expect(report.quarantined).toEqual([]);
}

/** Stored in chunks, some of them shared with the one before, and known by its SHA-256. */
async function putLarge(engine: Engine, at: number): Promise<void> {
  const words = Array.from({ length: 60_000 + at }, (_, n) => String((n * 7919) % 65_537));
  const bytes = new TextEncoder().encode(words.join(' '));
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes;
  };
  await engine.putBlob({ chunks: source(), sha256: true });
}

async function attempt(engine: Engine, batch: Batch): Promise<void> {
  try {
    await engine.commit(batch);
  } catch (error) {
    if (!isQuipuError(error)) throw error;
  }
}

function inMemory(): Target {
  const disk = new MemoryIo();
  return { open: () => openStore(disk, () => 1000), remove: async () => {} };
}

async function inFolder(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'quipu-verify-'));
  return {
    open: () => openFilesEngine(folder, { clock: () => 1000 }),
    remove: () => rm(folder, { recursive: true }),
  };
}
