import { describe, expect, it } from 'vitest';
import { codesWithoutAdvice, parseErrorData, parseErrorDocs } from './error-codes.ts';

describe('error codes', () => {
  it('are read from the interface', () => {
    const source = [
      'export interface ErrorData {',
      '  /** A comment: with a colon. */',
      "  IO: { path: string; outcome?: 'unknown' };",
      '  UNAUTHORIZED: Record<never, never>;',
      '}',
    ].join('\n');
    expect(parseErrorData(source)).toEqual([
      { code: 'IO', fields: ['path', 'outcome'] },
      { code: 'UNAUTHORIZED', fields: [] },
    ]);
  });

  it('are read from the document', () => {
    const text =
      '# Errors\n\n## IO\n\n| `path` | the file |\n\n## Not a code\n\n## CLOSED\n\nText.\n';
    expect(parseErrorDocs(text)).toEqual([
      { code: 'IO', fields: ['path'] },
      { code: 'CLOSED', fields: [] },
    ]);
  });

  it('need a cause and a fix', () => {
    const text =
      '## IO\n\n**Cause.** A.\n\n**Fix.** B.\n\n## CLOSED\n\n**Cause.** A.\n\n## LOCKED\n\n**Fix.** B.\n';
    expect(codesWithoutAdvice(text)).toEqual(['CLOSED', 'LOCKED']);
  });
});
