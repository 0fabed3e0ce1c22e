import { expect, it } from 'vitest';
import { NOUNS } from '../../src/cli/program.ts';
import { readProject } from '../support/project.ts';

it('says which commands create a missing store, once, and names all of them', async () => {
  const verbs = await Promise.all(
    NOUNS.map(async ({ name, load }) =>
      (await load()).map((verb) => ({
        name: `${name} ${verb.name}`,
        code: Object.values(verb).map(String).join('\n'),
      })),
    ),
  );
  const creating = verbs.flat().filter(({ code }) => code.includes('io.createStore()'));
  const said = readProject('docs/reference/cli.md').match(/[^.]* create a missing store[^.]*\./g);
  expect(said).toHaveLength(1);
  const named = [...(said?.[0] ?? '').matchAll(/`([a-z]+ [a-z]+)`/g)].map(([, name = '']) => name);
  expect(new Set(named)).toEqual(new Set(creating.map(({ name }) => name)));
});
