import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectPath, readPackageJson } from './support/project.ts';

// `npm run check` is format, lint and types. Here each part is one test, so that `npm test` fails
// with what it says.
const parts = readPackageJson().scripts['check']!.split(' && ');
const bin = projectPath('node_modules/.bin');

describe('npm run check', () => {
  it.each(parts)('%s', { timeout: 120_000 }, (command) => {
    const path = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const { status, stdout, stderr } = spawnSync(command, {
      cwd: projectPath('.'),
      env: { ...process.env, PATH: path },
      shell: true,
      encoding: 'utf8',
    });
    expect(status, `${stdout}${stderr}`).toBe(0);
  });
});
