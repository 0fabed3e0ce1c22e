import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { listFiles, readProject } from '../support/project.ts';

it('says which commands create a missing store, once, and names all of them', () => {
  const creating = listFiles('src/cli/commands', /^(?!.*\.test\.ts$).*\.ts$/)
    .filter((file) => readProject(file).includes('await io.createStore()'))
    .map((file) => basename(file, '.ts').replace('-', ' '));
  const said = readProject('docs/reference/cli.md').match(/[^.]* create a missing store[^.]*\./g);
  expect(said).toHaveLength(1);
  const named = [...(said?.[0] ?? '').matchAll(/`([a-z]+ [a-z]+)`/g)].map(([, name = '']) => name);
  expect(new Set(named)).toEqual(new Set(creating));
});
