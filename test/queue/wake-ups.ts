import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { projectPath } from '../support/project.ts';
import { createQueueFolder, queueFolder } from '../../src/queue/folder.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { ThreadRig, eventually } from './rig.ts';

export interface Load {
  readonly pushers: number;
  readonly consumers: number;
  readonly events: number;
  /** How likely a handler is killed at each page. */
  readonly deadly: number;
}

/**
 * Pushers in processes of their own, consumers with handlers. Soon after the last push every consumer has handled
 * every event that matches its filter, in order, and no handler ran twice at once.
 */
export async function runWakeUps({ pushers, consumers, events, deadly }: Load): Promise<void> {
  using rig = new ThreadRig();
  createQueueFolder(rig.inbox);
  const queue = new SqliteQueue(queueFolder(rig.inbox), { wakes: false });
  const names = Array.from({ length: consumers }, (_, number) => `c${number}`);
  // The first takes all, the others those of one pusher.
  for (const [number, consumer] of names.entries()) {
    const filter = number === 0 ? null : `source = 'p${number}'`;
    await queue.subscribe({ consumer, handler: rig.handler(deadly), filter });
  }
  const each = events / pushers;
  const acknowledged = await Promise.all(
    Array.from({ length: pushers }, async (_, number) => {
      const args = [projectPath('test/queue/pusher.mjs'), rig.inbox, String(each), `p${number}`];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      await once(child, 'close');
      return out.split('\n').slice(0, -1);
    }),
  );
  const ids = acknowledged.map((list) => list.map(Number));
  expect(ids.flat()).toHaveLength(events);
  for (const [number, consumer] of names.entries()) {
    const wanted = (number === 0 ? ids.flat() : ids[number]!).toSorted((a, b) => a - b);
    const handled = (): number[] => rig.notesOf(consumer, 'handled').map(Number);
    await eventually(() => new Set(handled()).size >= wanted.length, 10_000 + 10_000 * deadly);
    const once = [...new Set(handled())];
    expect(once.toSorted((a, b) => a - b)).toEqual(wanted);
    if (deadly === 0) expect(handled()).toEqual(wanted);
    expect(rig.notesOf(consumer, 'twice')).toEqual([]);
  }
  await eventually(() => readdirSync(join(rig.inbox, 'run')).length === 0);
  await queue.close();
}
