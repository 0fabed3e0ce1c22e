import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { listFiles, projectPath, readProject } from '../support/project.ts';

it('llms.txt is what `npm run docs:llms` writes', () => {
  const args = [projectPath('scripts/llms.mjs'), '--check'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

it('llms.txt has every document', () => {
  const index = readProject('llms.txt');
  const documents = listFiles('docs', /\.md$/);
  expect(documents.length).toBeGreaterThan(50);
  expect(documents.filter((path) => !index.includes(`](${path})`))).toEqual([]);
});
