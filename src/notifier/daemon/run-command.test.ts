import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Task } from '../spool/records.ts';
import { endOrphans } from './run-daemon.ts';
import { OutputTail, startCommand, type Ended, type RunningCommand } from './run-command.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-notifier-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function task(command: string, more: Partial<Task> = {}): Task {
  const env = { PATH: process.env['PATH'] ?? '' };
  return { id: 'a', author: '', command, cwd: folder, env, addedAt: 0, ...more };
}

async function start(given: Task, runId = 'r'): Promise<RunningCommand> {
  const command = await startCommand(given, runId);
  if (typeof command === 'string') throw new Error(command);
  return command;
}

async function run(given: Task): Promise<Ended> {
  const command = await start(given);
  command.begin();
  return command.ended;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('startCommand', () => {
  it('runs a line of shell where and with what it was asked for', async () => {
    const ended = await run(
      task('echo "$GREETING $NOTIFIER_TASK_ID" | tr a-z A-Z; pwd >&2; exit 3', {
        env: { PATH: process.env['PATH'] ?? '', GREETING: 'hi' },
      }),
    );
    expect(ended).toEqual({
      reason: 'exit',
      exitCode: 3,
      signal: null,
      omittedBytes: 0,
      output: `HI A\n${folder}\n`,
    });
  });

  it('keeps the end of a long output, with bounded memory', async () => {
    const ended = await run(task("head -c 3000000 /dev/zero | tr '\\0' x; echo end"));
    expect(ended.output).toHaveLength(64 * 1024);
    expect(ended.output.endsWith('xend\n')).toBe(true);
    expect(ended.omittedBytes).toBe(3_000_004 - 64 * 1024);
  });

  it('does not wait for what the command left in the background', async () => {
    const ended = await run(task('sleep 60 & echo $!'));
    expect(ended).toMatchObject({ exitCode: 0 });
    process.kill(Number(ended.output));
  });

  it('says what cannot be started', async () => {
    expect(await startCommand(task('true', { cwd: join(folder, 'gone') }), 'r')).toContain(
      'is gone',
    );
    const huge = { PATH: '', HUGE: 'x'.repeat(200_000) };
    expect(await startCommand(task('true', { env: huge }), 'r')).toContain('E2BIG');
    expect(await run(task('no-such-program'))).toMatchObject({ exitCode: 127 });
  });

  it('kills every process of the group', async () => {
    const command = await start(task('sleep 60 | sleep 60 & wait'));
    command.begin();
    command.kill('SIGKILL');
    expect(await command.ended).toMatchObject({ reason: 'signal', signal: 'SIGKILL' });
  });

  it('runs nothing before it may begin', async () => {
    const command = await start(task('echo began'));
    command.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ signal: 'SIGTERM', output: '' });
  });
});

describe('endOrphans', () => {
  it('ends the group of a run, also one that does not listen', async () => {
    const deaf = 'trap "" TERM; : > deaf; while :; do sleep 0.01; done';
    const command = await start(task(deaf), 'mine');
    command.begin();
    while (!existsSync(join(folder, 'deaf'))) await sleep(5);
    await endOrphans({ runId: 'mine', pid: command.pid, startedAt: 0 }, 100);
    expect(await command.ended).toMatchObject({ signal: 'SIGKILL' });
  });

  it('leaves a group alone that only has the number of the run', async () => {
    const command = await start(task('sleep 60'), 'theirs');
    await endOrphans({ runId: 'mine', pid: command.pid, startedAt: 0 }, 0);
    expect(isAlive(command.pid)).toBe(true);
    command.kill('SIGKILL');
    await command.ended;
  });
});

it('keeps the last bytes and counts the others, in whatever pieces they come', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 30 }), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 50 }), fc.nat(60), (texts, limit, lookAt) => {
      const tail = new OutputTail(limit);
      let longest = 0;
      texts.forEach((text, index) => {
        tail.push(Buffer.from(text));
        // Looking changes nothing.
        if (index === lookAt) longest = Math.max(longest, tail.text.length - limit);
      });
      expect(longest).toBeLessThanOrEqual(0);
      const all = texts.join('');
      expect(tail.text).toBe(all.slice(-limit));
      expect(tail.omittedBytes).toBe(Math.max(0, all.length - limit));
    }),
  );
});
