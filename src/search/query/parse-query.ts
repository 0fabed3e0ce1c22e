import { invalid, type QuipuError } from '../../base/errors.ts';
import { isCjkPart, tokenize, type Tokens } from '../text/tokenize.ts';
import {
  LIMIT_FIELDS,
  SEARCH_KINDS,
  TOKEN_FIELDS,
  type Choice,
  type Condition,
  type LimitField,
  type Query,
  type TokenField,
} from './query.ts';
import type { Phrase, Term } from './query.ts';

//   or    = and { 'OR' and }
//   and   = not { ['AND'] not }
//   not   = ('-' | 'NOT') not | '(' or ')' | word | '"' phrase '"' | field ':' value
//
// A word with a `*` at its end is a prefix. `-` negates only directly before a word. A name before a colon that is no
// field is part of a word, as in `std::vector`. Marks that stand alone are passed over, as in `id = 42`: people search for
// what they copied.

const QUERY_CHARS_MAX = 1024;
const TERMS_MAX = 64;
const DEPTH_MAX = 16;
/** Shorter beginnings are those of most words. A character of Chinese, Japanese or Korean is enough. */
const PREFIX_CHARS_MIN = 2;

/** Throws INVALID with a caret at the place for a text that is no query. */
export function parseQuery(text: string, nowMs: number): Query {
  if (text.length > QUERY_CHARS_MAX) {
    throw invalid('query', `may have at most ${QUERY_CHARS_MAX} characters, got ${text.length}`);
  }
  if (/\p{Surrogate}/u.test(text)) throw invalid('query', 'has a lone surrogate and no UTF-8 form');
  if (/\p{Cc}/u.test(text.replaceAll(/[\t\n\r]/g, ' '))) {
    throw invalid('query', 'has a control character');
  }
  return new QueryParser(text, nowMs).parse();
}

type Limit = { readonly field: LimitField; readonly value: string; readonly at: number };
type Node = Condition | { readonly kind: 'limit'; readonly limit: Limit; readonly wanted: boolean };

class QueryParser {
  readonly #text: string;
  readonly #nowMs: number;
  #at = 0;
  #depth = 0;
  #terms = 0;

  constructor(text: string, nowMs: number) {
    this.#text = text;
    this.#nowMs = nowMs;
  }

  parse(): Query {
    this.#skipSpace();
    if (this.#isEnd()) throw this.#refuse(0, 'the query is empty; write a word to look for');
    const node = this.#or();
    if (!this.#isEnd()) throw this.#refuse(this.#at, 'this bracket closes nothing; leave it out');
    return this.#toQuery(node);
  }

  #or(): Node {
    const first = this.#and();
    const terms = [first];
    while (this.#takeWord('OR')) terms.push(this.#and());
    if (terms.length === 1) return first;
    return { kind: 'or', terms: terms.map((term) => this.#plain(term)) };
  }

  #and(): Node {
    const terms = [this.#not()];
    for (;;) {
      this.#skipMarks();
      if (this.#isEnd() || this.#text[this.#at] === ')' || this.#sees('OR')) break;
      this.#takeWord('AND');
      terms.push(this.#not());
    }
    const [only] = terms;
    return terms.length === 1 && only !== undefined ? only : ({ kind: 'and', terms } as Condition);
  }

  #not(): Node {
    this.#skipSpace();
    const marksAt = this.#at;
    this.#skipMarks();
    const at = this.#at;
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw this.#refuse(at, `brackets nest at most ${DEPTH_MAX} deep`);
    try {
      if (this.#isEnd()) throw this.#refuseEnd(marksAt);
      if (this.#takeMinus() || this.#takeWord('NOT')) return negate(this.#not());
      if (this.#sees('OR') || this.#sees('AND')) {
        throw this.#refuse(
          at,
          'a word is missing before this; to look for the word itself, quote it',
        );
      }
      return this.#text[at] === '(' ? this.#group() : this.#leaf();
    } finally {
      this.#depth -= 1;
    }
  }

  #refuseEnd(from: number): QuipuError {
    const marks = this.#text.slice(from).trim();
    const isMissing = marks === '';
    const what = isMissing ? 'a word is missing here' : noWordIn(marks);
    return this.#refuse(isMissing ? this.#at : from, what);
  }

  #group(): Node {
    const at = this.#at;
    this.#at += 1;
    const inner = this.#or();
    if (this.#text[this.#at] !== ')') throw this.#refuse(at, 'this bracket is not closed');
    this.#at += 1;
    return inner;
  }

  #leaf(): Node {
    const at = this.#at;
    this.#terms += 1;
    if (this.#terms > TERMS_MAX) throw this.#refuse(at, `a query has at most ${TERMS_MAX} words`);
    if (this.#text[at] === ')') throw this.#refuse(at, 'a word is missing before this bracket');
    const name = /^[a-z]+(?=:)/i.exec(this.#text.slice(at, at + 16))?.[0].toLowerCase();
    if (isOneOf(TOKEN_FIELDS, name) || isOneOf(LIMIT_FIELDS, name)) {
      this.#at += name.length + 1;
      return this.#field(name, at);
    }
    const { text, isQuoted } = this.#value();
    const isPrefix = isQuoted ? this.#takeStar() : text.endsWith('*');
    const words = readWords(isQuoted || !isPrefix ? text : text.slice(0, -1), isPrefix);
    if (words === undefined) {
      throw this.#refuse(at, noWordIn(text));
    }
    const last = words.kind === 'term' ? words.token : (words.parts.at(-1) ?? '');
    if (words.prefix && Array.from(last).length < PREFIX_CHARS_MIN && !isCjkPart(last)) {
      throw this.#refuse(at, `a prefix has at least ${PREFIX_CHARS_MIN} characters before the *`);
    }
    return words;
  }

  #field(field: TokenField | LimitField, at: number): Node {
    const valueAt = this.#at;
    const { text: value } = this.#value();
    if (value === '') throw this.#refuse(valueAt, `${field}: needs a value`);
    if (isOneOf(LIMIT_FIELDS, field)) {
      return { kind: 'limit', limit: { field, value, at }, wanted: true };
    }
    if (field === 'kind' && !isOneOf(SEARCH_KINDS, value.toLowerCase())) {
      throw this.#refuse(valueAt, `kind: must be one of ${SEARCH_KINDS.join(', ')}`);
    }
    return { kind: 'field', field, value };
  }

  #value(): { text: string; isQuoted: boolean } {
    if (this.#text[this.#at] === '"') return { text: this.#quoted(), isQuoted: true };
    const [text = ''] = /^[^\s()"]*/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += text.length;
    return { text, isQuoted: false };
  }

  #quoted(): string {
    const at = this.#at;
    const end = this.#text.indexOf('"', at + 1);
    if (end === -1) throw this.#refuse(at, 'this quote is not closed');
    this.#at = end + 1;
    return this.#text.slice(at + 1, end);
  }

  #toQuery(node: Node): Query {
    const found: { limit: Limit; wanted: boolean }[] = [];
    const conditions: Condition[] = [];
    for (const term of flatten(node)) {
      if (term.kind === 'limit') found.push(term);
      else conditions.push(this.#plain(term));
    }
    const [only] = conditions;
    const condition = conditions.length < 2 ? only : ({ kind: 'and', terms: conditions } as const);
    const of = (name: LimitField): Choice[] =>
      found
        .filter(({ limit }) => limit.field === name)
        .map(({ limit, wanted }) => ({ value: limit.value, wanted }));
    for (const { limit } of found) this.#checkContext(limit);
    const times = found.map((one) => this.#toTime(one)).filter((time) => time !== undefined);
    const before = Math.min(...times.flatMap((time) => time.before ?? []));
    const after = Math.max(...times.flatMap((time) => time.after ?? []));
    return {
      condition,
      limits: {
        contexts: of('context'),
        labels: of('label'),
        ...(Number.isFinite(before) && { before }),
        ...(Number.isFinite(after) && { after }),
      },
    };
  }

  #checkContext({ field, value, at }: Limit): void {
    if (field !== 'context' || /^[1-9]\d{0,15}$/.test(value)) return;
    throw this.#refuse(at, 'context: must be the id of a context, a whole number');
  }

  /** Not before a time is after it. */
  #toTime({
    limit: { field, value, at },
    wanted,
  }: {
    limit: Limit;
    wanted: boolean;
  }): { before?: number; after?: number } | undefined {
    if (field !== 'before' && field !== 'after') return undefined;
    const time = readTime(value, this.#nowMs);
    if (time === undefined) {
      throw this.#refuse(
        at,
        `${field}: must be a date such as 2026-11-18, or an age such as 7d or 12h`,
      );
    }
    return (field === 'before') === wanted ? { before: time } : { after: time };
  }

  /** A condition without limits in it. */
  #plain(node: Node): Condition {
    if (node.kind === 'limit') {
      const { field, at } = node.limit;
      throw this.#refuse(
        at,
        `${field}: limits the whole answer, so it cannot stand beside OR or in a group with it`,
      );
    }
    if (node.kind === 'not') this.#plain(node.term);
    if (node.kind === 'and' || node.kind === 'or') for (const term of node.terms) this.#plain(term);
    return node;
  }

  #takeMinus(): boolean {
    const next = this.#text[this.#at + 1];
    if (this.#text[this.#at] !== '-' || next === undefined || /\s/.test(next)) return false;
    this.#at += 1;
    return true;
  }

  #takeStar(): boolean {
    if (this.#text[this.#at] !== '*') return false;
    this.#at += 1;
    return true;
  }

  #sees(word: string): boolean {
    const end = this.#at + word.length;
    return this.#text.slice(this.#at, end) === word && /^(?:[\s()"]|$)/.test(this.#text.slice(end));
  }

  #takeWord(word: string): boolean {
    this.#skipSpace();
    if (!this.#sees(word)) return false;
    this.#at += word.length;
    return true;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #skipMarks(): void {
    for (;;) {
      this.#skipSpace();
      const [marks] = /^[^\s()"\p{L}\p{N}]+(?=[\s)]|$)/u.exec(this.#text.slice(this.#at)) ?? [];
      if (marks === undefined) return;
      this.#at += marks.length;
    }
  }

  #isEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  #refuse(at: number, problem: string): QuipuError<'INVALID'> {
    return invalid(
      'query',
      `is wrong at character ${at + 1}: ${problem}\n${caret(this.#text, at)}`,
    );
  }
}

function noWordIn(text: string): string {
  return `there is no word to look for in ${JSON.stringify(text)}`;
}

function negate(node: Node): Node {
  if (node.kind === 'limit') return { ...node, wanted: !node.wanted };
  return { kind: 'not', term: node as Condition };
}

function flatten(node: Node): Node[] {
  return node.kind === 'and' ? node.terms.flatMap((term) => flatten(term)) : [node];
}

function isOneOf<const T extends string>(
  list: readonly T[],
  value: string | undefined,
): value is T {
  return (list as readonly (string | undefined)[]).includes(value);
}

const SHOWN_CHARS = 60;

/** The part of the query around the place, on one line, with a caret below. */
function caret(text: string, at: number): string {
  const from = Math.max(0, Math.min(at - SHOWN_CHARS / 2, text.length - SHOWN_CHARS));
  const shown = text.slice(from, from + SHOWN_CHARS).replaceAll(/\s/g, ' ');
  const lead = from > 0 ? '…' : '';
  const rest = from + SHOWN_CHARS < text.length ? '…' : '';
  return `  ${lead}${shown}${rest}\n  ${' '.repeat(at - from + lead.length)}^`;
}

/** One run of letters and digits, as an identifier is, with an optional `++` or `#`. */
const ONE_RUN = /^[\p{L}\p{N}\p{M}_]+(?<ending>\+\+|#)?$/u;

/**
 * The test for a word or a quoted phrase. A single run is looked up as a whole; `foo.bar` and a path are phrases of
 * their parts. Undefined when there is nothing in it to look for.
 */
function readWords(text: string, prefix: boolean): Term | Phrase | undefined {
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

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/** A date or a time of ISO 8601, in UTC unless it says otherwise, or an age such as `7d`. Undefined for anything else. */
export function readTime(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,5})([mhdwy])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (count !== undefined && unitMs !== undefined) return nowMs - Number(count) * unitMs;
  const [, date, time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(text) ??
    [];
  if (date === undefined) return undefined;
  const at = Date.parse(`${date}T${time}${zone}`);
  if (Number.isNaN(at)) return undefined;
  // `Date.parse` moves the 31st of February into March.
  const isReal = new Date(`${date}T00:00Z`).toISOString().startsWith(date);
  return isReal ? at : undefined;
}
