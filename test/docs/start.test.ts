import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';

it('npm start shows the tour and leaves nothing behind', { timeout: 120_000 }, () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [projectPath('scripts/start.mjs')],
    {
      encoding: 'utf8',
    },
  );
  expect(status, `${stdout}${stderr}`).toBe(0);
  expect(stderr).toBe('');
  expect(stdout).toContain('$ quipu context create');
  expect(stdout).toContain('quipu --help');
});
