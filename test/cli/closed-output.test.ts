import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { projectPath } from '../support/project.ts';

// What a command printed and nobody got is a failure, however the output was lost. Node hides that it was
// closed: it opens /dev/null in its place.

vi.setConfig({ testTimeout: 60_000 });

const PROGRAMS = {
  quipu: { script: 'dist/cli/main.js', command: 'stats --json' },
  thread: { script: 'dist/cli/thread/main.js', command: 'info --thread inbox' },
  notifier: { script: 'dist/notifier/main.js', command: 'status' },
};

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'quipu-output-'));
  run('quipu', 'init');
  run('thread', 'init inbox');
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

type Program = keyof typeof PROGRAMS;

/** In a shell that has more to do afterwards, as a script has. */
function run(program: Program, words: string, redirect = '') {
  const line = `'${process.execPath}' '${projectPath(PROGRAMS[program].script)}' ${words} ${redirect}`;
  return spawnSync('sh', ['-c', `${line}\nexit $?`], { cwd, env: ownEnv(), encoding: 'utf8' });
}

function ownEnv(): NodeJS.ProcessEnv {
  return { ...process.env, HOME: cwd, NOTIFIER_HOME: join(cwd, 'notifier') };
}

describe.each(Object.keys(PROGRAMS) as Program[])('%s', (program) => {
  const { script, command } = PROGRAMS[program];

  it.each(['>&-', '>/dev/full'])('fails in plain words with %s', (redirect) => {
    for (const words of program === 'quipu' ? [command, '--help'] : [command]) {
      const { status, stderr } = run(program, words, redirect);
      expect({ words, status, stderr }).toMatchObject({ words, status: 1 });
      expect(stderr).toMatch(/standard output cannot be written \((ENOSPC|EBADF)\)/);
      expect(stderr).not.toMatch(/internal error|fault of the program|\n {4}at /);
    }
  });

  it('does not mind an output that nobody wants', () => {
    expect(run(program, command, '>/dev/null')).toMatchObject({ status: 0, stderr: '' });
    // Whoever starts it leaves what Node leaves for an output that was closed.
    const words = [projectPath(script), ...command.split(' ')];
    const ignored = { cwd, env: ownEnv(), stdio: 'ignore' } as const;
    expect(spawnSync(process.execPath, words, ignored).status).toBe(0);
    const line = `'${process.execPath}' '${projectPath(script)}' ${command}\nexit $?`;
    expect(spawnSync('sh', ['-c', line], ignored).status).toBe(0);
  });
});
