import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { projectPath } from '../support/project.ts';

// The built command, in processes of its own: what unit tests of the commands cannot see.

vi.setConfig({ testTimeout: 120_000 });

const MAIN = projectPath('dist/cli/main.js');
let cwd: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'quipu-workflow-'));
  const { QUIPU_STORE: _, ...rest } = process.env;
  env = { ...rest, HOME: cwd };
  return () => rmSync(cwd, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function quipu(...args: string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'workflow', ...args], {
    cwd,
    env,
    encoding: 'utf8',
  });
  return { code: status, out: stdout.trimEnd(), err: stderr };
}

const lines = (text: string): Record<string, unknown>[] =>
  text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);

/** A role that waits until the file `go` is there, or the folder with all of it is gone. */
const WAITING = `
export const descriptor = { name: 'waiting', roles: {
  first: { command: 'date +%s%N >> ran; echo one' },
  second: { command: 'echo begun >> begun; while [ -e begun ] && [ ! -e go ]; do sleep 0.05; done; echo two' },
} };
export const table = { __start__: 'first', first: 'second', second: '__end__' };
`;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

describe('quipu workflow', () => {
  it('runs, shows live, pauses, resumes after a kill -9, forks and kills', async () => {
    writeFileSync(join(cwd, 'waiting.mjs'), WAITING);
    quipu('add', 'waiting.mjs');
    const args = [MAIN, 'workflow', 'run', 'waiting', '--prompt', 'go'];
    const running = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' });
    onTestFinished(() => void running.kill('SIGKILL'));
    await until(() => existsSync(join(cwd, 'begun')));
    const [thread] = lines(quipu('list', '--json').out);
    const id = String(thread!['id']);
    running.kill('SIGKILL');
    await once(running, 'exit');
    writeFileSync(join(cwd, 'go'), '');

    // The step that was recorded is not run again.
    const resumed = quipu('resume', id);
    expect(resumed).toMatchObject({ code: 0, out: id });
    expect(readFileSync(join(cwd, 'ran'), 'utf8').trim().split('\n')).toHaveLength(1);
    expect(
      quipu('live', id)
        .out.split('\n')
        .map((line) => line.split(/ +/)[2]),
    ).toEqual(['first', 'second', '__end__']);

    rmSync(join(cwd, 'go'));
    rmSync(join(cwd, 'begun'));
    const fork = quipu('fork', id, '--at', 'first').out;
    const forked = spawn(process.execPath, [MAIN, 'workflow', 'resume', fork, '--json'], {
      cwd,
      env,
    });
    onTestFinished(() => void forked.kill('SIGKILL'));
    let [live, paused] = ['', ''];
    forked.stdout.on('data', (piece: Buffer) => (paused += piece.toString()));
    const watching = spawn(process.execPath, [MAIN, 'workflow', 'live', fork], { cwd, env });
    onTestFinished(() => void watching.kill('SIGKILL'));
    watching.stdout.on('data', (piece: Buffer) => (live += piece.toString()));
    await until(() => existsSync(join(cwd, 'begun')) && live.includes('first'));
    expect(quipu('pause', fork)).toMatchObject({ code: 0, out: '' });
    writeFileSync(join(cwd, 'go'), '');
    const [code] = (await once(forked, 'close')) as [number];
    expect(code).toBe(0);
    expect(JSON.parse(paused)).toEqual({ threadId: fork, state: 'paused' });
    expect(quipu('kill', fork, '--reason', 'enough').code).toBe(0);
    await once(watching, 'close');
    expect(live).toContain('__end__  enough');
  });
});
