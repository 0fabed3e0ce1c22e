import { checkString } from '../../base/text.ts';
import { invalid, type QuipuError } from '../../base/errors.ts';
import {
  COLUMNS,
  FUNCTIONS,
  typeOf,
  type CompareOp,
  type Type,
  type Filter,
  type Operand,
  type Value,
} from './filter.ts';

const FILTER_CHARS_MAX = 8192;
const FILTER_TERMS_MAX = 200;
/** All patterns together. SQLite may compare each character of a content with all of them. */
const PATTERN_CHARS_MAX = 512;
const FILTER_DEPTH_MAX = 50;

// The condition of SQL's WHERE over the columns of an event, and nothing else of SQL:
//
//   or      = and { OR and }
//   and     = not { AND not }
//   not     = NOT not | '(' or ')' | test
//   test    = operand ( compare operand | [NOT] LIKE text [ESCAPE text] | [NOT] GLOB text
//                     | [NOT] IN '(' value {',' value} ')' | [NOT] BETWEEN operand AND operand
//                     | IS [NOT] (NULL | operand) | ISNULL | NOTNULL | NOT NULL )
//   operand = column | value | function '(' operand {',' operand} ')'
//
// A filter binds as SQL does, and has the meaning that it has in SQL. Both sides of a test have the same type, so that
// no database converts one into the other in a way of its own.

const COMPARISONS: readonly CompareOp[] = ['=', '<>', '<', '<=', '>', '>='];

function comparisonOf(sign: string): CompareOp | undefined {
  if (sign === '==') return '=';
  return sign === '!=' ? '<>' : COMPARISONS.find((op) => op === sign);
}

const INTEGER_MAX = 2n ** 63n - 1n;

/** An empty filter, NULL in a table, matches every event. */
export function readFilter(text: string | null | undefined): Filter | undefined {
  return text === null || text === undefined ? undefined : parseFilter(text);
}

/** Throws INVALID, with the place, for anything that is not a filter. */
export function parseFilter(text: string): Filter {
  checkString(text, 'filter');
  if (text.length > FILTER_CHARS_MAX) {
    throw invalid('filter', `may have at most ${FILTER_CHARS_MAX} characters, got ${text.length}`);
  }
  if (/\p{Surrogate}/u.test(text)) {
    throw invalid('filter', 'has a lone surrogate and no UTF-8 form');
  }
  if (text.includes('\0')) throw invalid('filter', 'has a NUL character');
  return new FilterParser(toTokens(text)).parse();
}

class FilterParser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;
  #terms = 0;
  #patternChars = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Filter {
    const filter = this.#or();
    const rest = this.#peek();
    if (rest.kind !== 'end')
      throw refuse(rest.at, `expected AND, OR or the end, got ${show(rest)}`);
    return filter;
  }

  #or(): Filter {
    return this.#chain('or', () => this.#chain('and', () => this.#not()));
  }

  #chain(kind: 'and' | 'or', part: () => Filter): Filter {
    const first = part();
    if (!this.#accept(kind)) return first;
    const terms = [first, part()];
    while (this.#accept(kind)) terms.push(part());
    return { kind, terms };
  }

  #not(): Filter {
    return this.#nested(this.#peek().at, () => {
      if (this.#accept('not')) return { kind: 'not', term: this.#not() };
      if (!this.#accept('(')) return this.#test();
      const inner = this.#or();
      this.#expect(')');
      return inner;
    });
  }

  #nested<T>(at: number, parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > FILTER_DEPTH_MAX) {
      throw refuse(at, `a filter nests at most ${FILTER_DEPTH_MAX} deep`);
    }
    const parsed = parse();
    this.#depth -= 1;
    return parsed;
  }

  #test(): Filter {
    const { at } = this.#peek();
    this.#terms += 1;
    if (this.#terms > FILTER_TERMS_MAX) {
      throw refuse(at, `a filter has at most ${FILTER_TERMS_MAX} tests`);
    }
    const left = this.#operand();
    const token = this.#peek();
    const op = token.kind === 'symbol' ? comparisonOf(token.text) : undefined;
    if (op !== undefined) {
      this.#next += 1;
      return { kind: 'compare', op, left, right: this.#operandLike(left) };
    }
    if (this.#accept('isnull')) return { kind: 'null', negated: false, left };
    if (this.#accept('notnull')) return { kind: 'null', negated: true, left };
    if (this.#accept('is')) {
      const negated = this.#accept('not');
      if (this.#accept('null')) return { kind: 'null', negated, left };
      return { kind: 'same', negated, left, right: this.#operandLike(left) };
    }
    const negated = this.#accept('not');
    if (negated && this.#accept('null')) return { kind: 'null', negated, left };
    return this.#wordTest(left, negated);
  }

  #wordTest(left: Operand, negated: boolean): Filter {
    if (this.#accept('like')) {
      const pattern = this.#pattern(left, 'LIKE');
      if (!this.#accept('escape')) return { kind: 'like', negated, left, pattern };
      return { kind: 'like', negated, left, pattern, escape: this.#escape() };
    }
    if (this.#accept('glob')) {
      return { kind: 'glob', negated, left, pattern: this.#pattern(left, 'GLOB') };
    }
    if (this.#accept('in')) {
      this.#expect('(');
      const values = [this.#valueLike(left)];
      while (this.#accept(',')) values.push(this.#valueLike(left));
      this.#expect(')');
      return { kind: 'in', negated, left, values };
    }
    if (this.#accept('between')) {
      const low = this.#operandLike(left);
      const and = this.#peek();
      if (!this.#accept('and')) throw refuse(and.at, `expected AND, got ${show(and)}`);
      return { kind: 'between', negated, left, low, high: this.#operandLike(left) };
    }
    const token = this.#peek();
    throw refuse(
      token.at,
      `expected a comparison, LIKE, GLOB, IN, BETWEEN or IS NULL, got ${show(token)}`,
    );
  }

  #pattern(left: Operand, word: string): string {
    const token = this.#take();
    if (token.kind !== 'text')
      throw refuse(token.at, `expected a text after ${word}, got ${show(token)}`);
    if (typeOf(left) === 'number')
      throw refuse(token.at, `${word} is for texts, and id is a number`);
    this.#countPattern(token.at, token.text);
    return token.text;
  }

  #countPattern(at: number, text: string): void {
    this.#patternChars += text.length;
    if (this.#patternChars <= PATTERN_CHARS_MAX) return;
    throw refuse(at, `the patterns have at most ${PATTERN_CHARS_MAX} characters together`);
  }

  #escape(): string {
    const token = this.#take();
    if (token.kind === 'text' && /^.$/su.test(token.text)) return token.text;
    throw refuse(token.at, 'ESCAPE takes a text of one character');
  }

  #operand(): Operand {
    const token = this.#peek();
    if (token.kind !== 'word') return { kind: 'value', value: this.#value() };
    this.#next += 1;
    if (Object.hasOwn(COLUMNS, token.text)) return { kind: 'column', name: token.text };
    const follows = this.#peek();
    if (follows.kind === 'symbol' && follows.text === '(') return this.#call(token);
    throw refuse(
      token.at,
      `there is no column ${show(token)}; the columns are ${Object.keys(COLUMNS).join(', ')}`,
    );
  }

  #call(token: Token): Operand {
    const known = Object.hasOwn(FUNCTIONS, token.text) ? FUNCTIONS[token.text] : undefined;
    if (known === undefined) {
      const names = Object.keys(FUNCTIONS).join(', ');
      throw refuse(token.at, `there is no function ${show(token)} in a filter; there are ${names}`);
    }
    return this.#nested(token.at, () => {
      this.#expect('(');
      const args: Operand[] = [];
      for (const type of known.takes) {
        if (args.length > 0) this.#expect(',');
        args.push(this.#operandOf(type));
      }
      if (known.optional !== undefined && this.#accept(',')) {
        args.push(this.#operandOf(known.optional));
      }
      if (token.text === 'json_extract') assertJsonArgs(token, args);
      if (token.text === 'instr') this.#needle(token.at, args[1]);
      this.#expect(')');
      return { kind: 'call', name: token.text, args };
    });
  }

  /** A text that `instr` looks for is a pattern as well: it may be compared at each character of a content. */
  #needle(at: number, needle: Operand | undefined): void {
    if (needle === undefined) return;
    if (readsContent(needle)) {
      throw refuse(at, 'instr cannot look for a content, which may be too long');
    }
    if (needle.kind === 'value') this.#countPattern(at, String(needle.value));
  }

  #operandOf(wanted: Type): Operand {
    const { at } = this.#peek();
    return ofType(wanted, this.#operand(), at);
  }

  #operandLike(left: Operand): Operand {
    return this.#operandOf(typeOf(left));
  }

  #valueLike(left: Operand): Operand {
    const { at } = this.#peek();
    return ofType(typeOf(left), { kind: 'value', value: this.#value() }, at);
  }

  #value(): Value {
    const token = this.#take();
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number') return toNumber(token.text, false);
    if (token.kind === 'symbol' && (token.text === '-' || token.text === '+')) {
      const number = this.#take();
      if (number.kind === 'number') return toNumber(number.text, token.text === '-');
      throw refuse(number.at, `expected a number, got ${show(number)}`);
    }
    if (token.kind === 'word' && token.text === 'null') {
      throw refuse(token.at, 'nothing equals NULL; write IS NULL');
    }
    throw refuse(token.at, `expected a column, a text or a number, got ${show(token)}`);
  }

  #peek(): Token {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw new TypeError('read past the end of a filter');
    return token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#next += 1;
    return token;
  }

  /** A word or a symbol. No text is both. */
  #accept(text: string): boolean {
    const token = this.#peek();
    const isOne = token.kind === 'word' || token.kind === 'symbol';
    if (isOne && token.text === text) this.#next += 1;
    return isOne && token.text === text;
  }

  #expect(symbol: string): void {
    const token = this.#peek();
    if (!this.#accept(symbol)) throw refuse(token.at, `expected ${symbol}, got ${show(token)}`);
  }
}

/** The parser checks the path here: a path that SQLite could not read would fail where the filter is used. */
const JSON_PATH = /^\$(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|"[^"\\]*")|\[(?:#-)?[0-9]{1,9}\])*$/;

function assertJsonArgs({ at }: Token, [from, path]: readonly Operand[]): void {
  if (from?.kind !== 'column') throw refuse(at, 'json_extract takes a column, such as content');
  const text = path?.kind === 'value' ? String(path.value) : '';
  if (!JSON_PATH.test(text)) {
    throw refuse(at, `json_extract takes a path such as '$.kind' or '$.items[0].name'`);
  }
}

function readsContent(operand: Operand): boolean {
  if (operand.kind === 'call') return operand.args.some(readsContent);
  return operand.kind === 'column' && operand.name === 'content';
}

function ofType(wanted: Type, operand: Operand, at: number): Operand {
  const given = typeOf(operand);
  if (given === wanted || given === 'any' || wanted === 'any') return operand;
  const advice = wanted === 'text' ? `a text in single quotes` : 'a number without quotes';
  throw refuse(at, `expected ${advice}`);
}

/** Keeps a whole number a whole number, as long as the database can hold it as one. */
function toNumber(digits: string, negative: boolean): number | bigint {
  if (/^[0-9]+$/.test(digits)) {
    const whole = negative ? -BigInt(digits) : BigInt(digits);
    if (whole <= INTEGER_MAX && whole >= -INTEGER_MAX) return whole;
  }
  return negative ? -Number(digits) : Number(digits);
}

function show(token: Token): string {
  if (token.kind === 'end') return token.text;
  if (token.kind === 'text') return 'a text';
  return token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text;
}

interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'symbol' | 'end';
  /** A word in lower case, the characters of a text, the digits of a number, or a symbol. */
  readonly text: string;
  /** The position where the token begins, from 0. */
  readonly at: number;
}

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /(?<word>[A-Za-z_][A-Za-z0-9_]*)|(?<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|'(?<text>(?:[^']|'')*)'|(?<symbol><=|>=|<>|!=|==|[=<>(),+-])/y;

/** The reason why a filter is refused, with the place, counted from 1. */
function refuse(at: number, problem: string): QuipuError<'INVALID'> {
  return invalid('filter', `is refused at character ${at + 1}: ${problem}`);
}

/** The words of a filter and an end. Throws INVALID at the first character that belongs to no word. */
function toTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = endOf(SPACE, text, 0); at < text.length; at = endOf(SPACE, text, at)) {
    if (text.startsWith('--', at) || text.startsWith('/*', at)) {
      throw refuse(at, 'comments are not part of a filter');
    }
    TOKEN.lastIndex = at;
    const { word, number, text: quoted, symbol } = TOKEN.exec(text)?.groups ?? {};
    const end = TOKEN.lastIndex;
    if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase(), at });
    else if (number !== undefined) {
      if (/[A-Za-z0-9_.]/.test(text[end] ?? '')) throw refuse(at, 'this is not a number');
      tokens.push({ kind: 'number', text: number, at });
    } else if (quoted !== undefined) {
      tokens.push({ kind: 'text', text: quoted.replaceAll("''", "'"), at });
    } else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol, at });
    else throw refuse(at, whyNot(text[at] ?? ''));
    at = end;
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length });
  return tokens;
}

/** The position behind what `pattern` takes from `at` on. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

function whyNot(character: string): string {
  if (character === "'") return 'this quote is never closed';
  if (character === '"') return `write texts in single quotes, such as 'message'`;
  if (character === ';') return 'a filter is one condition, without a semicolon';
  return `${JSON.stringify(character)} is not part of a filter`;
}
