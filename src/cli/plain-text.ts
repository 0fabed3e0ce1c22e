/**
 * Makes text safe to show on one line of a terminal: stored text may hold escape sequences that move the cursor or
 * rewrite earlier output.
 */
export function toPlainLine(text: string, maxChars: number): string {
  // A cut in the middle of a surrogate pair would print as a replacement character.
  const head = Array.from(text.slice(0, 2 * (maxChars + 1))).slice(0, maxChars + 1);
  const cut = head.length > maxChars;
  const shown = (cut ? head.slice(0, maxChars - 1) : head).join('');
  return escapeControls(shown) + (cut ? '…' : '');
}

/** Shows control characters and direction marks as escapes, everything else as it is. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const known = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }[char];
    return known ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
