import { expect, it } from 'vitest';
import { locateStore } from './command.ts';
import type { StorePlaces } from './command.ts';

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
