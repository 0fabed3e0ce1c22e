import { describe, expect, it } from 'vitest';
import type { Engine } from '../../engine/engine.ts';
import {
  append,
  appendLines,
  createContext,
  openTurn,
  patchTurn,
  sealTurn,
  writeDelta,
} from '../engine-suite/fixture.ts';
import { openBeside, openRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

/** Writes one of everything, with texts that grow, logs that go and come, and a turn that is streamed. */
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

export function verifyingSuite(target: StoreTarget): void {
  describe('a store that nothing damaged', () => {
    it('verifies clean again and again while many write to it', async () => {
      const rig = await openRig(target);
      const other = await openBeside(rig);
      let writing = true;
      const writers = Array.from({ length: 8 }, async (_, at) => {
        while (writing) await writeSome(at % 2 === 0 ? rig.engine : other.engine, at);
      });
      let turns = 0;
      try {
        for (const end = Date.now() + 1000; Date.now() < end || turns <= 20;) {
          const report = await rig.engine.upkeep.check({ repair: false });
          expect(report.problems).toEqual([]);
          turns = report.checked.turns;
        }
      } finally {
        writing = false;
        await Promise.all(writers);
      }
    });
  });
}
