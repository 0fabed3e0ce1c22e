import { expect, it } from 'vitest';
import { parsePlace } from './place.ts';

it.each(['quipu://host', 'QUIPUS://host', 'http://host', 'https://host', 'unix:/run/quipu.sock'])(
  'takes %s for a server',
  (place) => {
    expect(parsePlace(place)).toEqual({ kind: 'server' });
  },
);

it.each(['postgres://host/db', 'PostgreSQL://host/db'])('takes %s for a database', (place) => {
  expect(parsePlace(place)).toEqual({ kind: 'database' });
});

it.each([
  ['./quipu', './quipu'],
  ['C:\\quipu', 'C:\\quipu'],
  ['/quipu://x', '/quipu://x'],
  ['postgres:5432', 'postgres:5432'],
  ['file:///a%20b', '/a b'],
  ['', ''],
])('takes %j for the folder %j', (place, path) => {
  expect(parsePlace(place)).toEqual({ kind: 'folder', path });
});

it('knows no other scheme', () => {
  expect(parsePlace('FTP://host')).toEqual({ kind: 'unknown', scheme: 'ftp' });
});
