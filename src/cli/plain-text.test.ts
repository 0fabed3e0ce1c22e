import { expect, it } from 'vitest';
import { escapeControls, toPlainLine } from './plain-text.ts';

it('shows control characters instead of obeying them', () => {
  expect(escapeControls('a\u001b[2Jb\nc\u202e')).toBe('a\\u001b[2Jb\\nc\\u202e');
});

it('cuts long text at a whole character and says so', () => {
  expect(toPlainLine('abcdef', 6)).toBe('abcdef');
  expect(toPlainLine('abcdefg', 6)).toBe('abcde…');
  expect(toPlainLine('🪢🪢🪢🪢', 3)).toBe('🪢🪢…');
});
