import { expect, it } from 'vitest';
import { locateStore, type StorePlaces } from './command.ts';

function locate(changes: Partial<StorePlaces> & { there?: string[] }): string {
  const { there = [], ...rest } = changes;
  return locateStore({
    given: undefined,
    env: {},
    cwd: '/here',
    home: '/ada',
    exists: (path) => there.includes(path),
    ...rest,
  });
}

it('takes the option before the environment', () => {
  expect(locate({ given: 'a', env: { QUIPU_STORE: '/b' } })).toBe('/here/a');
  expect(locate({ env: { QUIPU_STORE: '/b' }, there: ['/here/.quipu'] })).toBe('/b');
  expect(locate({ env: { QUIPU_STORE: '' } })).toBe('/here/.quipu');
});

it('looks here, then at home, and else names the place here', () => {
  const here = '/here/.quipu';
  const atHome = '/ada/.quipu';
  expect(locate({ there: [here, atHome] })).toBe(here);
  expect(locate({ there: [atHome] })).toBe(atHome);
  expect(locate({})).toBe(here);
});

it('leaves addresses alone', () => {
  for (const given of ['quipu://localhost:7411', 'https://a.example/', 'unix:/run/quipu.sock']) {
    expect(locate({ given })).toBe(given);
  }
  expect(locate({ given: 'quipu' })).toBe('/here/quipu');
});

it('takes no folder for an address whose scheme is missing', () => {
  for (const given of ['localhost:7410', '127.0.0.1:7410', 'agents.example:80']) {
    expect(() => locate({ given })).toThrow(`write http://${given} for a server`);
    expect(locate({ given, there: [`/here/${given}`] })).toBe(`/here/${given}`);
    expect(locate({ given: `./${given}` })).toBe(`/here/${given}`);
  }
  expect(() => locate({ env: { QUIPU_STORE: 'localhost:7410' } })).toThrow('for a server');
  expect(locate({ given: 'notes:1' })).toBe('/here/notes:1');
  expect(() => locate({ given: '' })).toThrow('--store is empty');
});
