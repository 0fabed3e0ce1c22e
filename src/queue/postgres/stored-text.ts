// PostgreSQL has no text with a NUL character in it, and events may have one. A text is stored with U+0001 U+0001 for
// NUL and U+0001 U+0002 for U+0001. That keeps the order of texts, so stored texts can be compared as they are.

/* eslint-disable no-control-regex -- Control characters are what this is about. */

/** The form in which a text is stored and compared. */
export function toStored(text: string): string {
  if (!/[\0\u0001]/.test(text)) return text;
  return text.replaceAll(/[\0\u0001]/g, (found) =>
    found === '\0' ? '\u0001\u0001' : '\u0001\u0002',
  );
}

export function fromStored(stored: string): string {
  if (!stored.includes('\u0001')) return stored;
  return stored.replaceAll(/\u0001[\u0001\u0002]/g, (found) =>
    found === '\u0001\u0001' ? '\0' : '\u0001',
  );
}

/** SQL for the characters of a stored text before its first NUL: SQLite looks no further for a pattern. */
export function sqlPatternText(stored: string): string {
  return `replace(split_part(${stored}, E'\\x01\\x01', 1), E'\\x01\\x02', E'\\x01')`;
}
