import { expect, it } from 'vitest';
import { AGENTS } from '../../src/cli/nouns/history.ts';
import { SOURCES } from '../../src/import/sources/all-sources.ts';
import { readProject } from '../support/project.ts';

it('names every source on the command line and in the guide', () => {
  const names = SOURCES.map(({ name }) => name);
  expect(AGENTS).toEqual(names);
  const guide = readProject('docs/guide/import.md');
  expect(names.filter((name) => !guide.includes(`| \`${name}\` |`))).toEqual([]);
});
