import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';

it('the page has the types of the answers that it asks for; else run scripts/web-types.mjs', () => {
  const args = [projectPath('scripts/web-types.mjs'), '--check'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
