import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: a process that is killed in the middle of its work, as often as anybody likes, loses no turn
 * that it acknowledged and doubles none that it was asked for twice. Every context is one chain without
 * a gap, and no id is given to two turns.
 */

const WRITERS = 64;
const CONTEXTS = 8;
const ROUNDS = 8;
const folder = freshFolder('quipu-kill-', afterAll);

/** What each writer has to append next. */
const next: number[] = Array.from({ length: WRITERS }, () => 0);
/** Turn ids by key, as they were acknowledged. */
const acked = new Map<string, bigint>();

async function workAndDie(round: number): Promise<void> {
  const worker = projectPath('test/crash/kill-9-worker.mjs');
  const child = spawn(process.execPath, [worker, folder, JSON.stringify(next)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const closed = once(lines, 'close');
  lines.on('line', (line) => {
    const [writer = '', number = '', turn = ''] = line.split(' ');
    acked.set(`${writer}-${number}`, BigInt(turn));
    next[Number(writer)] = Number(number) + 1;
  });
  await Promise.race([once(lines, 'line'), exited]);
  await setTimeout(20 + ((round * 97) % 400));
  child.kill('SIGKILL');
  await exited;
  await closed;
  expect(child.signalCode).toBe('SIGKILL');
}

async function textsOfChain(engine: Engine, context: number): Promise<Map<string, bigint>> {
  const texts = new Map<string, bigint>();
  const head = await engine.getHead(toContextId(context));
  if (head === undefined || head.head === 0n) return texts;
  const rows = await engine.walkBack(head.head, head.headDepth + 1);
  expect(rows.map((row) => row.depth)).toEqual(rows.map((_, at) => head.headDepth - at));
  for (const { id, payload } of rows) {
    const bytes = payload === undefined ? undefined : await engine.getBlob(payload);
    const text = new TextDecoder().decode(bytes);
    expect(texts.has(text), `${text} is there twice`).toBe(false);
    texts.set(text, id);
  }
  return texts;
}

it(`loses nothing in ${ROUNDS} kills with ${WRITERS} writers`, { timeout: 120_000 }, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = acked.size;
    await workAndDie(round);
    expect(acked.size).toBeGreaterThan(before);
    const engine = await openFilesEngine(folder, { create: false });
    const found = new Map<string, bigint>();
    for (let context = 1; context <= CONTEXTS; context += 1) {
      for (const [text, id] of await textsOfChain(engine, context)) found.set(text, id);
    }
    for (const [text, id] of acked) expect(found.get(text), text).toBe(id);
    expect(new Set(found.values()).size).toBe(found.size);
    const { turns, damage } = await engine.stats();
    expect([turns, damage]).toEqual([found.size, []]);
    await engine.close();
  }
  process.stdout.write(`${acked.size} acknowledged turns survived ${ROUNDS} kills\n`);
});
