import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: a server that is killed in the middle of appends, as often as anybody likes, has every message that it
 * acknowledged. No message is torn. A producer that sends again what was not acknowledged has each of its messages
 * once, in order.
 */

const WRITERS = 8;
const ROUNDS = 4;
const PAD = 'x'.repeat(3000);

interface Sent {
  readonly writer: number;
  readonly number: number;
  readonly pad: string;
}

/** What is wrong with the messages of a stream, given how many of each writer were acknowledged. */
function problemsOf(messages: readonly Sent[], acked: readonly number[]): string[] {
  const next = acked.map(() => 0);
  const problems: string[] = [];
  for (const { writer, number, pad } of messages) {
    if (pad !== PAD) problems.push(`torn: ${writer}-${number}`);
    if (number !== next[writer]) problems.push(`out of order: ${writer}-${number}`);
    next[writer] = number + 1;
  }
  for (const [writer, count] of acked.entries()) {
    if ((next[writer] ?? 0) < count) problems.push(`lost: ${writer}-${next[writer]}`);
  }
  return problems;
}

async function startServer(folder: string): Promise<{ child: ChildProcess; streams: string }> {
  const serve = ['serve', '--store', folder, '--port', '0', '--tcp-port', '0', '--json'];
  const child = spawn(process.execPath, [projectPath('dist/cli/main.js'), ...serve], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, streams: `${(JSON.parse(line) as { http: string }).http}/v1/streams` };
}

/** Appends until the server does not answer any more. */
async function appendUntilDead(streams: string, writer: number, acked: number[]): Promise<void> {
  for (;;) {
    const number = acked[writer] ?? 0;
    try {
      const answer = await fetch(`${streams}/s`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'producer-id': `w${writer}`,
          'producer-epoch': '0',
          'producer-seq': String(number),
        },
        body: JSON.stringify({ writer, number, pad: PAD } satisfies Sent),
      });
      if (answer.status !== 200 && answer.status !== 204) {
        throw new TypeError(`got ${answer.status}: ${await answer.text()}`);
      }
      acked[writer] = number + 1;
    } catch (error) {
      // The message of a connection that broke off; anything else is a finding.
      if (error instanceof TypeError && error.message === 'fetch failed') return;
      throw error;
    }
  }
}

async function readAll(streams: string): Promise<Sent[]> {
  const all: Sent[] = [];
  let offset = '-1';
  for (;;) {
    const answer = await fetch(`${streams}/s?offset=${offset}`);
    expect(answer.status).toBe(200);
    all.push(...((await answer.json()) as Sent[]));
    offset = answer.headers.get('stream-next-offset') ?? '';
    if (answer.headers.get('stream-up-to-date') === 'true') return all;
  }
}

it(`loses and doubles nothing in ${ROUNDS} kills`, { timeout: 120_000 }, async () => {
  const folder = freshFolder('quipu-stream-kill-');
  const acked = Array.from({ length: WRITERS }, () => 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { child, streams } = await startServer(folder);
    const made = await fetch(`${streams}/s`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
    });
    expect(made.status).toBe(round === 0 ? 201 : 200);
    expect(problemsOf(await readAll(streams), acked)).toEqual([]);
    const before = acked.reduce((sum, count) => sum + count);
    const working = acked.map((_, writer) => appendUntilDead(streams, writer, acked));
    while (acked.reduce((sum, count) => sum + count) === before) await sleep(5);
    await sleep(50 + ((round * 97) % 200));
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await Promise.all([...working, exited]);
  }
  const { streams } = await startServer(folder);
  expect(problemsOf(await readAll(streams), acked)).toEqual([]);
});

it('is noticed when a message is lost, doubled, moved or torn', () => {
  const message = (number: number): Sent => ({ writer: 0, number, pad: PAD });
  const [zero, one, two] = [message(0), message(1), message(2)];
  expect(problemsOf([zero, one, two], [3])).toEqual([]);
  expect(problemsOf([zero, one, two], [2])).toEqual([]);
  expect(problemsOf([zero, one], [3])).toEqual(['lost: 0-2']);
  expect(problemsOf([zero, one, one, two], [3])).toEqual(['out of order: 0-1']);
  expect(problemsOf([one, zero], [2])).toContain('out of order: 0-1');
  expect(problemsOf([{ ...zero, pad: PAD.slice(1) }], [1])).toEqual(['torn: 0-0']);
});
