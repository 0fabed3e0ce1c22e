import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contents, message, mirrored, openQueue } from './fixture.ts';
import { info, warn } from '../../src/queue/sqlite/runtime-log.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

describe('events.jsonl', () => {
  const damages: Record<string, (path: string, size: number) => void> = {
    'a lost file': (path) => rmSync(path),
    'a line that was cut off': (path, size) => truncateSync(path, size - 20),
    'lines that were lost': (path) =>
      writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]!}\n`),
    'a line that was begun': (path) => appendFileSync(path, '{"id":4,"crea'),
  };
  it.each(Object.keys(damages))('is made whole after %s, with the next push', async (name) => {
    const queue = openQueue();
    await queue.pushBatch([message('a'), message('b'), message('c')]);
    damages[name]!(queue.folder.mirror, readFileSync(queue.folder.mirror).length);
    await queue.push(message('d'));
    expect(mirrored(queue)).toEqual(await queue.peek({ lastEventId: 0 }));
  });

  it('is put aside when it makes no sense, and nothing of it is lost', async () => {
    const queue = openQueue();
    await queue.pushBatch([message('a'), message('b')]);
    appendFileSync(queue.folder.mirror, '\0\0\0\n');
    await queue.push(message('c'));
    expect(contents(mirrored(queue))).toEqual(['a', 'b', 'c']);
    expect(
      readdirSync(queue.folder.path).filter((name) => /^events-.*\.jsonl$/.test(name)),
    ).toHaveLength(1);
  });

  it('does not fail a push that it cannot follow, and catches up', async () => {
    const warnings: string[] = [];
    const queue = openQueue(freshFolder(), { warn: (text) => warnings.push(text) });
    rmSync(queue.folder.mirror);
    mkdirSync(queue.folder.mirror);
    expect(await queue.push(message('a'))).toBe(1);
    expect(warnings).toEqual([expect.stringMatching(/^events\.jsonl is behind/)]);
    expect(readFileSync(queue.folder.log, 'utf8')).toMatch(
      /\[WARN\] push: events\.jsonl is behind/,
    );
    rmSync(queue.folder.mirror, { recursive: true });
    await queue.push(message('b'));
    expect(contents(mirrored(queue))).toEqual(['a', 'b']);
  });

  it('is put aside past 10,000 lines with the next push, under a name of its own', async () => {
    const queue = openQueue(freshFolder(), { now: () => 1_700_000_000_000 });
    const asides = (): string[] =>
      readdirSync(queue.folder.path)
        .filter((name) => /^events-.*\.jsonl$/.test(name))
        .toSorted();
    const many = Array.from({ length: 10_000 }, () => message('x'));
    await queue.pushBatch(many);
    await queue.push(message('10,001'));
    expect(asides()).toEqual([]);
    await queue.push(message('10,002'));
    expect(asides()).toEqual(['events-20231114-221320.jsonl']);
    expect(contents(mirrored(queue))).toEqual(['10,002']);
    await queue.pushBatch(many);
    await queue.push(message('y'));
    expect(asides()).toEqual(['events-20231114-221320-2.jsonl', 'events-20231114-221320.jsonl']);
    expect(mirrored(queue).map(({ id }) => id)).toEqual([20_003]);
    expect(await queue.peek({ lastEventId: 0, limit: 100_000 })).toHaveLength(20_003);
  });

  it('has every event once when two queues write it in turns', async () => {
    const queue = openQueue();
    const other = openQueue(queue.folder.path);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([queue.push(message('a')), other.push(message('b'))]);
    }
    expect(mirrored(queue).map(({ id }) => id)).toEqual(
      Array.from({ length: 40 }, (_, at) => at + 1),
    );
  });
});

describe('logs/thread.log', () => {
  it('is put aside past 10,000 lines, counted without reading it', async () => {
    const now = (): number => 1_700_000_000_000;
    const queue = openQueue(freshFolder(), { now });
    const lines = Array.from({ length: 9_999 }, () => info('x'));
    queue.log(...lines);
    // The first push of a process counts its line, as a command does that pushes once.
    for (const text of ['a', 'b', 'c']) {
      const pusher = openQueue(queue.folder.path, { now });
      await pusher.push(message(text));
      await pusher.close();
    }
    expect(readdirSync(queue.folder.logs).toSorted()).toEqual([
      'thread-20231114-221320.log',
      'thread.log',
    ]);
    expect(readFileSync(queue.folder.log, 'utf8')).toBe(
      '[2023-11-14T22:13:20.000Z] [INFO] push: source=self type=message id=3\n',
    );
  });

  it('has no line that a handler made up', () => {
    const queue = openQueue();
    queue.log(warn('out\n[2026-01-01T00:00:00.000Z] [INFO] push: id=9\u001b[2J'));
    expect(readFileSync(queue.folder.log, 'utf8').split('\n')).toHaveLength(2);
  });
});
