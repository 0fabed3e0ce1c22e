import { describe, expect, it } from 'vitest';
import { parsePlace } from '../base/place.ts';
import { parseAddress } from './parse-address.ts';

describe('parseAddress', () => {
  it.each([
    ['quipu://localhost', { kind: 'tcp', host: 'localhost', port: 7411 }],
    ['QUIPU://10.0.0.1:9009/', { kind: 'tcp', host: '10.0.0.1', port: 9009 }],
    ['quipu://[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['quipus://db.example?timeoutMs=500', { kind: 'tls', host: 'db.example', timeoutMs: 500 }],
    ['unix:/run/quipu.sock', { kind: 'unix', path: '/run/quipu.sock' }],
    ['unix:///run/quipu.sock', { kind: 'unix', path: '/run/quipu.sock' }],
    ['unix:./quipu.sock', { kind: 'unix', path: './quipu.sock' }],
    ['https://host/base', { kind: 'http', url: 'https://host/base' }],
  ])('reads %s', (url, address) => {
    expect(parsePlace(url).kind).toBe('server');
    expect(parseAddress(url)).toMatchObject(address);
  });

  it.each([
    ['quipu://', 'INVALID'],
    ['quipu://host/store', 'INVALID'],
    ['quipu://host:99999', 'INVALID'],
    ['quipu://me:secret@host', 'INVALID'],
    ['quipu://host?timeoutMs=0', 'INVALID'],
    ['quipu://host?token=secret', 'INVALID'],
    ['unix:', 'INVALID'],
    ['ftp://host', 'UNSUPPORTED'],
  ])('refuses %s', (url, code) => {
    expect(() => parseAddress(url)).toThrow(expect.objectContaining({ code }));
  });

  it.each(['./quipu', 'C:\\quipu', '/quipu://x', 'file:///quipu'])('leaves %s alone', (path) => {
    expect(parsePlace(path).kind).toBe('folder');
  });
});
