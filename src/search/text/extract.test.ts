import { describe, expect, it } from 'vitest';
import { TEXT_CHARS_MAX, extract, extractOf, toExtracted } from './extract.ts';

describe('extract', () => {
  it('takes the strings of a value, and not the names of its shape', () => {
    const value = { type: 'x', role: 'user', deep: [{ text: 'one' }, 'two'], n: 5, none: null };
    expect(extract(value)).toEqual({ texts: ['one', 'two'], role: 'user' });
    expect(extract('a text')).toEqual({ texts: ['a text'] });
  });

  it('knows messages with parts, calls and results', () => {
    const message = {
      role: 'assistant',
      model: 'm-1',
      content: [
        { type: 'text', text: 'looking' },
        { type: 'tool_use', id: 't1', name: 'bash', input: { command: 'ls' } },
        { type: 'toolCall', name: 'read', arguments: {} },
      ],
      tool_calls: [{ type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } }],
    };
    expect(extract(message)).toMatchObject({ model: 'm-1', tools: ['bash', 'read', 'search'] });
    expect(extract({ message, type: 'message' })).toMatchObject({ role: 'assistant' });
    expect(extract({ toolName: 'bash', content: 'out' }).tools).toEqual(['bash']);
  });

  it('finds the content of an imported record, and not what its program writes around it', () => {
    const record = {
      uuid: 'u1',
      cwd: '/srv/project',
      gitBranch: 'main',
      userType: 'external',
      timestamp: '2026-10-01T00:00:00Z',
      message: {
        id: 'msg_1',
        model: 'm-1',
        content: [
          { type: 'text', text: 'looking' },
          { type: 'tool_use', id: 't1', name: 'bash', input: { command: 'ls', cwd: '/tmp' } },
        ],
      },
    };
    const payload = { at: 5, role: 'assistant', model: 'm-1', blobs: [['/x', 'text']] };
    const turn = { ...payload, summary: 'in short', records: [record] };
    const texts = ['in short', 'looking', 't1', 'bash', 'ls', '/tmp'];
    const found = { texts, role: 'assistant', model: 'm-1', tools: ['bash'] };
    expect(extractOf('import.claude-code.message', turn)).toEqual(found);
    expect(extractOf('note', turn).texts).toContain('main');
    expect(extractOf('import.claude-code.message', { text: 'x' })).toEqual({ texts: ['x'] });
  });

  it('leaves encoded bytes out', () => {
    const data = Buffer.alloc(600, 7).toString('base64');
    const value = {
      a: { type: 'image', mimeType: 'image/png', data: 'short' },
      b: { type: 'base64', media_type: 'image/png', data },
      c: data,
      d: `see data:image/png;base64,${data} there`,
      e: Buffer.from('bytes'),
      signature: 'abc',
    };
    expect(extract(value)).toEqual({ texts: ['see   there'] });
  });

  it('is bounded', () => {
    let deep: unknown = 'bottom';
    for (let n = 0; n < 100; n += 1) deep = [deep];
    expect(extract(deep)).toEqual({ texts: [] });
    const long = extract(['long words '.repeat(500_000), 'more']);
    expect(long.texts.join('').length).toBe(TEXT_CHARS_MAX);
  });

  it('takes what an extractor gives in any of its forms', () => {
    expect(toExtracted('a')).toEqual({ texts: ['a'] });
    expect(toExtracted(['a', 'b'])).toEqual({ texts: ['a', 'b'] });
    expect(toExtracted({ texts: ['a'], role: 'r' })).toEqual({ texts: ['a'], role: 'r' });
  });
});
