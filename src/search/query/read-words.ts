import { isCjkPart, tokenize, type Tokens } from '../text/tokenize.ts';
import type { Phrase, Term } from './query.ts';

/** One run of letters and digits, as an identifier is, with an optional `++` or `#`. */
const ONE_RUN = /^[\p{L}\p{N}\p{M}_]+(?<ending>\+\+|#)?$/u;

/**
 * The test for a word or a quoted phrase. A single run is looked up as a whole; `foo.bar` and a path are phrases of
 * their parts. Undefined when there is nothing in it to look for.
 */
export function readWords(text: string, prefix: boolean): Term | Phrase | undefined {
  const tokens: Tokens = { parts: [], wholes: [] };
  tokenize(text, tokens);
  const { parts, wholes } = tokens;
  const last = parts.at(-1);
  if (last === undefined) return undefined;
  const run = ONE_RUN.exec(text);
  if (run !== null && !parts.some(isCjkPart)) {
    const token = wholes.at(-1) ?? last;
    return { kind: 'term', token, prefix };
  }
  return toPhrase(...endOfCjk(parts, prefix));
}

/**
 * In a document, the last character of a Chinese, Japanese or Korean run is a token by itself. In a query, more of the
 * run may follow, so that token is left out, or is the beginning of one.
 */
function endOfCjk(parts: readonly string[], prefix: boolean): [readonly string[], boolean] {
  const last = parts.at(-1) ?? '';
  if (!isCjkPart(last) || Array.from(last).length !== 1) return [parts, prefix];
  const before = parts.at(-2) ?? '';
  const isEndOfRun = isCjkPart(before) && Array.from(before)[1] === last;
  return isEndOfRun ? [parts.slice(0, -1), false] : [parts, true];
}

function toPhrase(parts: readonly string[], prefix: boolean): Term | Phrase {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return { kind: 'term', token: only, prefix };
  return { kind: 'phrase', parts, prefix };
}
