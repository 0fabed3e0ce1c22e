import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { text, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { decodeTypeLine, encodeTypeLine, type TypeLine, typeTag } from './turn-record.ts';

const LINE = '{"tag":"d460daeb8c2c0f0b","type":"chat.message","version":1}\n';

describe('types.jsonl', () => {
  recordSuite<TypeLine>({
    golden: [
      {
        hex: Buffer.from(LINE).toString('hex'),
        value: { tag: 'd460daeb8c2c0f0b', type: 'chat.message', version: 1 },
      },
    ],
    values: fc
      .record({ type: text, version: u32 })
      .map(({ type, version }) => ({ tag: typeTag(type, version), type, version })),
    encode: encodeTypeLine,
    decode: decodeTypeLine,
  });

  it('gives another tag to another version and another name', () => {
    const tags = [typeTag('a', 1), typeTag('a', 2), typeTag('b', 1), typeTag('1\0a', 1)];
    expect(new Set(tags).size).toBe(tags.length);
  });

  it('takes no line with another tag, another field or a fraction', () => {
    const tag = typeTag('a', 1);
    const lines = [
      { tag: typeTag('a', 2), type: 'a', version: 1 },
      { tag, type: 'a', version: 1, more: 1 },
      { tag, type: 'a', version: '1' },
      { tag: typeTag('a', 1.5), type: 'a', version: 1.5 },
    ];
    for (const line of lines) {
      expect(decodeTypeLine(Buffer.from(`${canonicalJson(line)}\n`))).toBeUndefined();
    }
  });
});
