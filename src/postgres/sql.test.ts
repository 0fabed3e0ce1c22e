import { describe, expect, it } from 'vitest';
import { Wording } from './sql.ts';

const STATEMENT = { name: 'read', text: 'SELECT x.a FROM quipu.turns x JOIN quipu.docs d ON true' };

describe('Wording', () => {
  it('names the schema at every table', () => {
    expect(new Wording('mine').textOf(STATEMENT.text)).toBe(
      'SELECT x.a FROM mine.turns x JOIN mine.docs d ON true',
    );
    expect(new Wording('quipu').textOf(STATEMENT.text)).toBe(STATEMENT.text);
  });

  it('gives statements of two schemas, and of two versions, names of their own', () => {
    const other = { ...STATEMENT, text: `${STATEMENT.text} LIMIT 1` };
    const names = ['mine', 'yours'].flatMap((schema) => {
      const wording = new Wording(schema);
      return [STATEMENT, other].map((each) => (wording.of(each) as { name: string }).name);
    });
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^read-[0-9a-f]{12}$/);
  });
});
