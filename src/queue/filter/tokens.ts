import { invalid } from '../../base/errors.ts';
import type { QuipuError } from '../../base/errors.ts';

export interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'symbol' | 'end';
  /** A word in lower case, the characters of a text, the digits of a number, or a symbol. */
  readonly text: string;
  /** The position where the token begins, from 0. */
  readonly at: number;
}

const SPACE = /[ \t\r\n]+/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const TEXT = /'((?:[^']|'')*)'/y;
const SYMBOL = /<=|>=|<>|!=|==|[=<>(),+-]/y;

/** The reason why a filter is refused, with the place, counted from 1. */
export function refuse(at: number, problem: string): QuipuError<'INVALID'> {
  return invalid('filter', `is refused at character ${at + 1}: ${problem}`);
}

/** The words of a filter and an end. Throws INVALID at the first character that belongs to no word. */
export function toTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    const space = take(SPACE);
    if (space !== null) {
      at += space[0].length;
      continue;
    }
    const token = readToken(text, at, take);
    tokens.push(token.token);
    at += token.length;
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length });
  return tokens;
}

function readToken(
  text: string,
  at: number,
  take: (pattern: RegExp) => RegExpExecArray | null,
): { token: Token; length: number } {
  if (text.startsWith('--', at) || text.startsWith('/*', at)) {
    throw refuse(at, 'comments are not part of a filter');
  }
  const word = take(WORD);
  if (word !== null) {
    return { token: { kind: 'word', text: word[0].toLowerCase(), at }, length: word[0].length };
  }
  const number = take(NUMBER);
  if (number !== null) {
    const after = text[at + number[0].length] ?? '';
    if (/[A-Za-z0-9_.]/.test(after)) throw refuse(at, 'this is not a number');
    return { token: { kind: 'number', text: number[0], at }, length: number[0].length };
  }
  const quoted = take(TEXT);
  if (quoted !== null) {
    const characters = (quoted[1] ?? '').replaceAll("''", "'");
    return { token: { kind: 'text', text: characters, at }, length: quoted[0].length };
  }
  const symbol = take(SYMBOL);
  if (symbol !== null) {
    return { token: { kind: 'symbol', text: symbol[0], at }, length: symbol[0].length };
  }
  throw refuse(at, whyNot(text[at] ?? ''));
}

function whyNot(character: string): string {
  if (character === "'") return 'this quote is never closed';
  if (character === '"') return `write texts in single quotes, such as 'message'`;
  if (character === ';') return 'a filter is one condition, without a semicolon';
  return `${JSON.stringify(character)} is not part of a filter`;
}
