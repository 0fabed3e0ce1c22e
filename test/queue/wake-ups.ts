import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectPath } from '../support/project.ts';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { ThreadRig, eventually } from './rig.ts';

export interface Load {
  readonly pushers: number;
  readonly consumers: number;
  readonly events: number;
  /** How likely a handler is killed at each page. */
  readonly deadly: number;
}

export interface WakeUps {
  readonly acknowledged: number;
  /** Events that a consumer had to handle and had not, a minute after the last push: a slow machine makes some. */
  readonly late: number[];
  /** Those that it had not handled when nothing ran any more. */
  readonly lost: number[];
  /** Events that a consumer handled and that do not match its filter. */
  readonly others: number[];
  /** Handlers that ran beside another one of the same consumer. */
  readonly twice: string[];
}

/** Pushers in processes of their own, consumers with handlers that may be killed. */
export async function runWakeUps({ pushers, consumers, events, deadly }: Load): Promise<WakeUps> {
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
  const found = { late: [], lost: [], others: [], twice: [] };
  const result: WakeUps = { acknowledged: ids.flat().length, ...found };
  const wantedBy = (number: number): Set<number> =>
    new Set(number === 0 ? ids.flat() : ids[number]);
  const handledBy = (consumer: string): Set<number> =>
    new Set(rig.notesOf(consumer, 'handled').map(Number));
  const missing = (): number[] =>
    names.flatMap((consumer, number) => {
      const handled = handledBy(consumer);
      return [...wantedBy(number)].filter((id) => !handled.has(id));
    });
  await eventually(() => missing().length === 0, 60_000).catch(() => undefined);
  result.late.push(...missing());
  await eventually(() => rig.isQuiet, 120_000);
  result.lost.push(...missing());
  for (const [number, consumer] of names.entries()) {
    const wanted = wantedBy(number);
    result.others.push(...[...handledBy(consumer)].filter((id) => !wanted.has(id)));
    result.twice.push(...rig.notesOf(consumer, 'twice'));
  }
  await queue.close();
  return result;
}
