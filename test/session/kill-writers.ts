import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Session } from '../../src/session/sessions.ts';
import { projectPath } from '../support/project.ts';

interface Told {
  readonly entry?: string;
  /** Of the picture in the entry, as base64. */
  readonly sum?: string;
  readonly artifact?: string;
  readonly text?: string;
}

interface Killing {
  /** How many lines each of them says before the end. */
  readonly lines: number;
  /** And how long they go on after that. */
  readonly delayMs: number;
}

/**
 * Two processes write to one session, one of them with pictures, and both are killed in the middle of it. One owns
 * the store and the other one goes through it, whichever came first. Everything that was acknowledged must be there,
 * and nothing that is there may be half. Gives how much was acknowledged.
 */
export async function killWriters(place: string, { lines, delayMs }: Killing): Promise<number> {
  const before = await openStore(place);
  const { id } = await before.sessions.create();
  await before.close();
  const told = await Promise.all(
    ['texts', 'pictures'].map((name) => writeAndDie([place, id, name], { lines, delayMs })),
  );
  await using store = await openStore(place);
  await using session = await store.sessions.open(id);
  await session.append({ type: 'x', id: 'after' });
  await checkSession(session, told.flat());
  const { artifacts } = await store.sessions.details(id);
  for (const artifact of artifacts) {
    expect((await session.resolve(`artifact://${artifact}`)).content).toMatch(/^\w+ says \d+$/);
  }
  checkBlobFiles(join(place, 'blob-files'));
  expect((await store.maintain.verify()).problems).toEqual([]);
  // What was said and not done is noticed.
  const never = { entry: 'never', sum: '' };
  await expect(checkSession(session, [never])).rejects.toThrow(/never/);
  return told.flat().length;
}

async function checkSession(session: Session, told: readonly Told[]): Promise<void> {
  const { entries, malformedLines, unresolved } = await session.load();
  expect({ malformedLines, unresolved }).toEqual({ malformedLines: 0, unresolved: [] });
  const sums = new Map(entries.map((entry) => [entry.id, sumOf(entry)]));
  expect(sums.size).toBe(entries.length);
  for (const { entry, sum, artifact, text } of told) {
    if (entry !== undefined) expect(sums.get(entry), entry).toBe(sum);
    if (artifact === undefined) continue;
    expect((await session.resolve(`artifact://${artifact}`)).content).toBe(text);
  }
}

async function writeAndDie(args: string[], { lines, delayMs }: Killing): Promise<Told[]> {
  const worker = projectPath('test/session/killed-worker.mjs');
  const pictures = args[2] === 'pictures' ? 'yes' : 'no';
  const child = spawn(process.execPath, [worker, ...args, pictures], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  const isDue = new Promise<void>((resolve) => {
    child.stdout.on('data', (piece: Buffer) => {
      out += piece.toString();
      if (out.split('\n').length > lines) resolve();
    });
    child.once('close', () => resolve());
  });
  await isDue;
  await sleep(delayMs);
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
  const whole = out.slice(0, out.lastIndexOf('\n') + 1).trim();
  return whole.split('\n').map((line) => JSON.parse(line) as Told);
}

function sumOf(entry: object): string | undefined {
  const { message } = entry as { message?: { content: { data: string }[] } };
  const data = message?.content[0]?.data;
  return data === undefined ? undefined : createHash('sha256').update(data).digest('hex');
}

/** Each has the bytes that its name says, or is one that somebody began. */
function checkBlobFiles(folder: string): void {
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    if (name.endsWith('.part')) continue;
    const sum = createHash('sha256').update(fs.readFileSync(join(folder, name)));
    expect(sum.digest('hex')).toBe(name);
  }
}
