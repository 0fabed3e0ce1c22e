import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/** Compares the pages below a folder with what the verbs say. */
function check(cwd: string): { status: number | null; stderr: string } {
  const script = projectPath('scripts/cli-reference.mjs');
  return spawnSync(process.execPath, [script, '--check'], { cwd, encoding: 'utf8' });
}

it('the reference pages say what the verbs say; else run npm run docs:cli', () => {
  expect(check(projectPath('.'))).toMatchObject({ status: 0, stderr: '' });
});

it.each([
  ['cli.md', '| `--type <name>` |', '| `--kind <name>` |'],
  ['queue.md', '### thread pop\n', '### thread take\n'],
  ['notifier.md', '$ notifier task list --state error', '$ notifier task list --state failed'],
])('a change of %s is found', (page, before, after) => {
  const folder = freshFolder('quipu-docs-');
  cpSync(projectPath('docs/reference'), join(folder, 'docs/reference'), { recursive: true });
  const path = join(folder, 'docs/reference', page);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(before);
  writeFileSync(path, text.replace(before, after));
  expect(check(folder)).toMatchObject({
    status: 1,
    stderr: `docs/reference/${page} is not as the verbs have it: npm run docs:cli\n`,
  });
});
