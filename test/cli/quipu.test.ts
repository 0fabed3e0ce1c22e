import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readOwnerNote } from '../../src/engine/files/disk/owner-note.ts';
import { projectPath } from '../support/project.ts';

// The built command in a real shell: what unit tests of the commands cannot see.

// Each test starts many processes.
vi.setConfig({ testTimeout: 120_000 });

let cwd: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'quipu-shell-'));
  const main = projectPath('dist/cli/main.js');
  chmodSync(main, 0o755);
  symlinkSync(main, join(cwd, 'quipu'));
  const { QUIPU_STORE: _, ...rest } = process.env;
  env = { ...rest, HOME: cwd, PATH: `${cwd}${delimiter}${process.env['PATH'] ?? ''}` };
  return () => rmSync(cwd, { recursive: true, force: true });
});

function sh(script: string): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '-euo', 'pipefail', '-c', script],
    {
      cwd,
      env,
      encoding: 'utf8',
    },
  );
  return { code: status, out: stdout, err: stderr };
}

it('runs the five lines of the introduction', () => {
  const { code, out, err } = sh(`
    ctx=$(quipu context create --title "fix the parser")
    quipu context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'
    turn=$(echo "long text" | quipu context append $ctx --type note --stdin)
    branch=$(quipu context fork $turn)
    quipu context last $branch -n 10 --json
  `);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const [id, ...lines] = out.trimEnd().split('\n');
  expect(id).toBe('1');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { id: '1', depth: 0, type: 'chat.message', payload: { role: 'user', text: 'hi' } },
    { id: '2', depth: 1, type: 'note', payload: 'long text\n' },
  ]);
});

describe('exit codes', () => {
  it('are 0, 1 and 2, with data on standard output only', () => {
    expect(sh('quipu init')).toMatchObject({ code: 0, err: '' });
    const missing = sh('quipu context show 9 --json');
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const wrong = sh('quipu context show 9x --json');
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(JSON.parse(wrong.err)).toMatchObject({ error: { code: 'INVALID' } });
  });

  it('tell of a store that cannot be opened', () => {
    writeFileSync(join(cwd, 'file'), 'not a store');
    expect([1, 2]).toContain(sh('quipu --store file stats').code);
    expect(sh('quipu --store mysql://localhost/x stats').err).toContain(
      'not an address of a store',
    );
    expect(sh('quipu stats').err).toContain('quipu init');
  });
});

describe('pipes', () => {
  it('that close early end the command quietly', () => {
    const { code, out, err } = sh(`
      quipu context create
      for n in $(seq 3000); do echo '{"type":"note","payload":"'$n' and some text to fill the pipe"}'; done |
        quipu context append-batch 1 > ids
      quipu context export 1 | head -n 1 | cut -c 1-9
    `);
    expect({ code, out, err }).toEqual({ code: 0, out: '1\n{"id":"1"\n', err: '' });
  });

  it('carry bytes as they are', () => {
    const { code, out, err } = sh(`
      head -c 3000000 /dev/urandom > data
      hash=$(quipu blob create - --sha256 < data)
      quipu blob get $hash | cmp - data
      quipu blob get blob:sha256:$(sha256sum < data | cut -d ' ' -f 1) --out copy
      cmp copy data
      quipu blob get $hash --start 2999990 | cmp - <(tail -c 10 data)
    `);
    expect({ code, out, err }).toEqual({ code: 0, out: '', err: '' });
  });
});

it('aborts a stream on Ctrl-C and keeps what came', async () => {
  sh('quipu context create');
  const child = spawn('quipu', ['context', 'stream', '1', '--type', 'note'], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString();
  });
  child.stdin.write('kept');
  await waitForOpenTurn();
  child.kill('SIGINT');
  const [code] = (await once(child, 'close')) as [number | null];
  expect({ code, out }).toEqual({ code: 1, out: '1\n' });
  const turn = JSON.parse(sh('quipu context turn 1 --json').out) as object;
  expect(turn).toMatchObject({ outcome: 'aborted', payload: 'kept' });
});

/** The open turn has a file of its own, which grows with what was acknowledged. */
async function waitForOpenTurn(): Promise<void> {
  for (let tries = 0; tries < 800; tries += 1) {
    const { out } = sh('wc -c .quipu/turns/open/* 2>/dev/null || true');
    if (Number.parseInt(out, 10) > 128) return;
    await sleep(25);
  }
  throw new Error('the stream never began');
}

it('shares the store with other commands, whoever came first', async () => {
  sh('quipu context create');
  const follower = spawn('quipu', ['context', 'follow', '1', '-n', '3', '--json'], { cwd, env });
  onTestFinished(() => void follower.kill('SIGKILL'));
  let out = '';
  follower.stdout.on('data', (data: Buffer) => {
    out += data.toString();
  });
  const closed = once(follower, 'close');
  const { code, err } = sh(`
    for n in 1 2 3; do echo "$n" | quipu context append 1 --type note --stdin; done
    quipu context export 1 | quipu context append-batch 1
  `);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(await closed).toEqual([0, null]);
  const payloads = out.trimEnd().split('\n');
  expect(payloads.map((line) => (JSON.parse(line) as { payload: string }).payload)).toEqual([
    '1\n',
    '2\n',
    '3\n',
  ]);
});

it('leaves the store to a server, and says who has it when one is to begin', async () => {
  sh('quipu context create');
  const child = spawn('quipu', ['context', 'follow', '1'], { cwd, env });
  const closed = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  await vi.waitFor(() => expect(readOwnerNote(join(cwd, '.quipu'))?.pid).toBe(child.pid), {
    timeout: 60_000,
  });
  const { err } = sh('timeout 30 quipu serve --port 0 --tcp-port 0 || true');
  expect(err).toMatch(new RegExp(`process ${child.pid} on .* has the store`));
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});
