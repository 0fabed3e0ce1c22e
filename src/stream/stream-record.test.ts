import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  checkStreamName,
  decodeProducer,
  decodeStreamRecord,
  encodeProducer,
  encodeStreamRecord,
  producerDoc,
  streamDoc,
} from './stream-record.ts';

const [stream = '', producer = ''] = [
  ...readFileSync(new URL('../../docs/format/streams.md', import.meta.url), 'utf8').matchAll(
    /```json\n(.*)\n```/g,
  ),
].map(([, text]) => text);

describe('the document of a stream', () => {
  it('is what docs/format says, byte for byte', () => {
    const doc = streamDoc('jobs/7');
    expect(doc).toBe('streams/afd49968231e1e3998ee87659464f02a8196fb30e30946ed2c4bba530e96b936');
    expect(encodeStreamRecord(decodeStreamRecord(doc, stream))).toBe(stream);
    expect(decodeStreamRecord(doc, stream)).toMatchObject({ name: 'jobs/7', closed: 5, forks: 1 });
  });

  it.each([
    ['another version', { v: 2 }],
    ['another name', { name: 'jobs/8' }],
    ['a count below zero', { forks: -1 }],
    ['a fork of nothing', { fork: { at: 1, sub: 0 } }],
    ['a text for a number', { closed: '5' }],
    ['a deletion that is none', { deleted: false }],
  ])('is corrupt with %s', (_, change) => {
    const text = JSON.stringify({ ...(JSON.parse(stream) as object), ...change });
    expect(() => decodeStreamRecord(streamDoc('jobs/7'), text)).toThrow(
      expect.objectContaining({ code: 'CORRUPT' }),
    );
  });
});

describe('the document of a producer', () => {
  it('is what docs/format says, byte for byte', () => {
    const doc = producerDoc('jobs/7', 'worker-1');
    expect(doc).toMatch(/^stream-producers\/[0-9a-f]{64}\/[0-9a-f]{64}$/);
    expect(encodeProducer('worker-1', decodeProducer(doc, producer))).toBe(producer);
    expect(() => decodeProducer(doc, '{"v":1,"epoch":0,"seq":1.5}')).toThrow(
      expect.objectContaining({ code: 'CORRUPT' }),
    );
  });
});

describe('the name of a stream', () => {
  it.each(['a', 'jobs/7', 'v1/stream/x', 'Grüße', '...', 'a.b/c..d'])('may be %j', (name) => {
    expect(checkStreamName(name)).toBe(name);
  });

  it.each([
    '',
    '/',
    'a/',
    '/a',
    'a//b',
    '.',
    '..',
    'a/../b',
    'a/.',
    'a\\b',
    'a\nb',
    '\u0000',
    '\ud800',
  ])('may not be %j', (name) => {
    expect(() => checkStreamName(name)).toThrow(expect.objectContaining({ code: 'INVALID' }));
  });

  it('has a limit in bytes', () => {
    expect(checkStreamName('a'.repeat(500))).toHaveLength(500);
    expect(() => checkStreamName('ä'.repeat(251))).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    );
  });
});
