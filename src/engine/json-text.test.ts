import { describe, expect, it } from 'vitest';

import { assertJsonLine, assertJsonText } from './json-text.ts';

describe('assertJsonText', () => {
  it.each(['{}', '1', 'null', '"\u{1F600}"', '{\n "a": [1]\n}', '"\\ud800"'])(
    'takes %j',
    (text) => {
      expect(() => assertJsonText(text, 'content')).not.toThrow();
    },
  );

  it.each(['', 'x', '{', "{'a':1}", '1 2', '"\ud800"'])('refuses %j', (text) => {
    expect(() => assertJsonText(text, 'content')).toThrow(
      expect.objectContaining({ code: 'INVALID', data: { what: 'content' } }),
    );
  });
});

describe('assertJsonLine', () => {
  it.each(['{"a":1}', '"\\n"', '"\u2028"'])('takes %j', (line) => {
    expect(() => assertJsonLine(line, 'line')).not.toThrow();
  });

  it.each(['{}\n', '{\r}', '[1,\n2]', 'x'])('refuses %j', (line) => {
    expect(() => assertJsonLine(line, 'line')).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    );
  });
});
