import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RamIo } from '../files/ram-io.ts';
import { artifactsFolderOf, parseSessionName, toSessionName } from '../files/session-names.ts';
import type { Line } from '../../base/json-lines.ts';
import { parseLine, readBackward, readForward } from './session-file.ts';

const parse = (text: string): ReturnType<typeof parseLine> => parseLine(Buffer.from(text));

describe('parseLine', () => {
  it('takes what is whole', () => {
    expect(parse('\uFEFF{"a":1}\r')).toEqual({ records: [{ a: 1 }], malformed: false });
    expect(parse('')).toEqual({ records: [], malformed: false });
    const glued = parse('{"a":"}{"}{"b":{"c":"\\""}}');
    expect(glued).toEqual({ records: [{ a: '}{' }, { b: { c: '"' } }], malformed: false });
    const torn = parse('{"type":"message","te{"type":"message","id":"x"}');
    expect(torn).toEqual({ records: [{ type: 'message', id: 'x' }], malformed: true });
    for (const bad of ['\0\0\0', '{"a":', '[1]', 'null', 'text', '{"a":1}{"b"']) {
      expect(parse(bad).malformed, bad).toBe(true);
    }
    expect(parse('{"a":1}{"b"').records).toEqual([{ a: 1 }]);
  });
});

describe('lines of a file', () => {
  it('are the same from both ends, for any bytes', async () => {
    const bytes = fc
      .uint8Array({ maxLength: 60 })
      .map((array) => array.map((byte) => (byte % 4 === 0 ? 10 : byte)));
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 3000 }), async (given, repeat) => {
        const file = await new RamIo().open('/x', 'create');
        const all = Buffer.concat(Array.from({ length: repeat }, () => given));
        await file.write(all, 0);
        const forward: Line[] = [];
        for await (const line of readForward(file, 0, all.length)) forward.push(line);
        const backward: Line[] = [];
        for await (const line of readBackward(file, all.length)) backward.push(line);
        expect(backward.toReversed()).toEqual(forward);
        const joined = forward.map(({ bytes: own, terminated }) =>
          Buffer.concat([own!, Buffer.from(terminated ? '\n' : '')]),
        );
        expect(Buffer.concat(joined).equals(all)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });
});

describe('names', () => {
  it('carry time and id, and the folder of artifacts', () => {
    const name = toSessionName('a-b', '2026-11-15T10:20:30.456Z');
    expect(name).toBe('2026-11-15T10-20-30-456Z_a-b.jsonl');
    expect(parseSessionName(`/x/${name}`)).toEqual({
      id: 'a-b',
      timestamp: '2026-11-15T10:20:30.456Z',
    });
    expect(artifactsFolderOf(`/x/${name}`)).toBe('/x/2026-11-15T10-20-30-456Z_a-b');
    expect(artifactsFolderOf('/x/session')).toBeUndefined();
    expect(artifactsFolderOf('/x/.jsonl')).toBeUndefined();
  });
});
