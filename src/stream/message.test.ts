import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8 } from '../base/text.ts';
import { Encoding } from '../format/turn-record.ts';
import { firstPart, jsonValues, toMessage } from './message.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const refused: unknown = expect.objectContaining({ code: 'INVALID' });

function stored(body: string, type = JSON_TYPE): string | undefined {
  const message = toMessage(encodeUtf8(body), type);
  return message && decodeUtf8(message.bytes);
}

describe('a JSON message', () => {
  it('is a list of values, in the text that came', () => {
    expect(stored(' {"b":1e400, "a":12345678901234567890}\n')).toBe(
      '[{"b":1e400, "a":12345678901234567890}]',
    );
    expect(stored('[1,[2]]')).toBe('[1,[2]]');
    expect(stored('"x"')).toBe('["x"]');
    expect(stored('[ ]')).toBeUndefined();
    expect(toMessage(encodeUtf8('1'), JSON_TYPE)?.encoding).toBe(Encoding.json);
  });

  it.each(['', '{', '[1', '1,2', '[1],[2]', '\u0000', `${'['.repeat(2000)}${']'.repeat(2000)}`])(
    'is not %j',
    (body) => {
      expect(() => stored(body)).toThrow(refused);
    },
  );

  it('is not what is no UTF-8', () => {
    expect(() => toMessage(new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE)).toThrow(refused);
  });

  it('shows what others put in its place as one value, and nothing that is no JSON', () => {
    const values = (text: string): string | undefined => {
      const found = jsonValues(encodeUtf8(text));
      return found && decodeUtf8(found);
    };
    expect([values('[1,2]'), values('{"redacted":true}'), values('no')]).toEqual([
      '1,2',
      '{"redacted":true}',
      undefined,
    ]);
  });

  it('is cut between values, wherever commas and brackets stand', () => {
    const text = '[{"a":[1,2]}, "x,]\\",[" ,[3,{"b":"}"}],null]';
    const part = (count: number): unknown =>
      JSON.parse(decodeUtf8(firstPart(encodeUtf8(text), JSON_TYPE, count).bytes));
    const values = JSON.parse(text) as unknown[];
    for (let count = 1; count <= 4; count += 1) expect(part(count)).toEqual(values.slice(0, count));
    expect(() => part(5)).toThrow(refused);
  });
});

describe('a message of another type', () => {
  it('is text where text is said and there, else bytes', () => {
    const encoding = (bytes: Uint8Array, type: string): number | undefined =>
      toMessage(bytes, type)?.encoding;
    expect(encoding(encodeUtf8('ä'), 'text/plain')).toBe(Encoding.text);
    expect(encoding(encodeUtf8('ä').subarray(1), 'text/plain')).toBe(Encoding.bytes);
    expect(encoding(encodeUtf8('ä'), 'image/png')).toBe(Encoding.bytes);
  });

  it('is cut between bytes', () => {
    const bytes = new Uint8Array([1, 2, 3]);
    expect(firstPart(bytes, 'image/png', 2).bytes).toEqual(new Uint8Array([1, 2]));
    expect(() => firstPart(bytes, 'image/png', 4)).toThrow(refused);
  });
});
