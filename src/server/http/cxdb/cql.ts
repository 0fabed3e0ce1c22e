// cxdb's language of conditions on contexts: comparisons joined by NOT, AND and OR, in this order of precedence, and
// brackets. Parsing and matching are pure. The length and the depth of a query are bounded before anything is built.

const CHARS_MAX = 4096;
const DEPTH_MAX = 32;
const COMPARISONS_MAX = 256;

type Value = string | number | boolean;
type Kind = 'text' | 'number' | 'time' | 'flag';

/** The facts of a context that a query may ask for. Times are Unix times in milliseconds. */
const FIELDS = {
  id: 'number',
  tag: 'text',
  title: 'text',
  label: 'text',
  user: 'text',
  service: 'text',
  host: 'text',
  trace_id: 'text',
  parent: 'number',
  root: 'number',
  created: 'time',
  depth: 'number',
  is_live: 'flag',
} as const;

/** A context has none, one or several of each. */
export type CqlContext = {
  readonly [Name in keyof typeof FIELDS]?: Value | readonly Value[] | undefined;
};

interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly of: (context: CqlContext) => readonly Value[];
}

function fieldOf(word: string): Field | undefined {
  const name = word.toLowerCase() as keyof typeof FIELDS;
  if (!Object.hasOwn(FIELDS, name)) return undefined;
  return { name: word, kind: FIELDS[name], of: (context) => [context[name] ?? []].flat() };
}

export type CqlQuery = (context: CqlContext) => boolean;

export class CqlError extends Error {
  readonly kind: 'UnexpectedToken' | 'UnknownField' | 'InvalidOperator' | 'InvalidValue';
  /** The character of the query at which it goes wrong, from 0. */
  readonly position: number;
  readonly field: string | undefined;

  constructor(kind: CqlError['kind'], message: string, position: number, field?: string) {
    super(message);
    this.kind = kind;
    this.position = position;
    this.field = field;
  }
}

interface Token {
  readonly kind: 'word' | 'string' | 'number' | 'sign' | 'end';
  readonly text: string;
  readonly at: number;
}

const TOKEN =
  /\s*(?:(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<number>-?\d+(?:\.\d+)?)|(?<word>[A-Za-z_]\w*)|(?<sign>\^~=|!=|\^=|~=|>=|<=|[=<>(),]))/y;

function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  for (;;) {
    const found = TOKEN.exec(query);
    if (found === null) break;
    at = TOKEN.lastIndex;
    const [kind, text] = Object.entries(found.groups ?? {}).find(
      ([, one]) => one !== undefined,
    ) as [Token['kind'], string];
    tokens.push({ kind, text, at: at - text.length });
  }
  const rest = query.slice(at).search(/\S/);
  if (rest >= 0) throw unexpected(query[at + rest] ?? '', at + rest);
  tokens.push({ kind: 'end', text: 'the end', at: query.length });
  return tokens;
}

/** `now` is the time that relative times are counted from. Throws CqlError. */
export function parseCql(query: string, now: number): CqlQuery {
  if (query.length > CHARS_MAX) {
    throw new CqlError('InvalidValue', `the query has over ${CHARS_MAX} characters`, CHARS_MAX);
  }
  const parser = new Parser(tokenize(query), now);
  return parser.whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #now: number;
  #at = 0;
  #depth = 0;
  #comparisons = 0;

  constructor(tokens: readonly Token[], now: number) {
    this.#tokens = tokens;
    this.#now = now;
  }

  whole(): CqlQuery {
    const query = this.#or();
    const { kind, text, at } = this.#peek();
    if (kind !== 'end') throw unexpected(text, at);
    return query;
  }

  #or(): CqlQuery {
    const sides = [this.#and()];
    while (this.#takeWord('OR')) sides.push(this.#and());
    return (context) => sides.some((side) => side(context));
  }

  #and(): CqlQuery {
    const sides = [this.#not()];
    while (this.#takeWord('AND')) sides.push(this.#not());
    return (context) => sides.every((side) => side(context));
  }

  #not(): CqlQuery {
    const isNot = this.#takeWord('NOT');
    const inner = this.#primary();
    return isNot ? (context) => !inner(context) : inner;
  }

  #primary(): CqlQuery {
    if (!this.#takeSign('(')) return this.#comparison();
    this.#depth += 1;
    const { at } = this.#peek();
    if (this.#depth > DEPTH_MAX) {
      throw new CqlError('UnexpectedToken', `brackets are over ${DEPTH_MAX} deep`, at);
    }
    const inner = this.#or();
    this.#mustTake(')');
    this.#depth -= 1;
    return inner;
  }

  #comparison(): CqlQuery {
    const name = this.#next();
    if (name.kind !== 'word') throw unexpected(name.text, name.at);
    const field = fieldOf(name.text);
    if (field === undefined) {
      const known = Object.keys(FIELDS).join(', ');
      const message = `there is no field ${name.text}; the fields are ${known}`;
      throw new CqlError('UnknownField', message, name.at, name.text);
    }
    this.#comparisons += 1;
    if (this.#comparisons > COMPARISONS_MAX) {
      throw new CqlError('UnexpectedToken', `there are over ${COMPARISONS_MAX} of them`, name.at);
    }
    if (this.#takeWord('IN')) {
      const wanted = this.#list(field);
      return (context) => field.of(context).some((one) => wanted.has(one));
    }
    const sign = this.#next();
    const test = sign.kind === 'sign' ? testOf(sign.text, field.kind) : undefined;
    if (test === undefined) {
      const message = `${name.text} cannot be compared by ${sign.text}`;
      throw new CqlError('InvalidOperator', message, sign.at, name.text);
    }
    const wanted = this.#value(field);
    const holds = (context: CqlContext): boolean =>
      field.of(context).some((one) => test(one, wanted));
    return sign.text === '!=' ? (context) => !holds(context) : holds;
  }

  #list(field: Field): ReadonlySet<Value> {
    this.#mustTake('(');
    const values = new Set([this.#value(field)]);
    while (this.#takeSign(',')) values.add(this.#value(field));
    this.#mustTake(')');
    return values;
  }

  #value({ kind, name }: Field): Value {
    const token = this.#next();
    const value = valueOf(token, kind, this.#now);
    if (value !== undefined) return value;
    const message = `${name} is no ${kind} like ${token.text}`;
    throw new CqlError('InvalidValue', message, token.at, name);
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #next(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }

  #takeWord(word: string): boolean {
    const { kind, text } = this.#peek();
    return kind === 'word' && text.toUpperCase() === word && this.#next() !== undefined;
  }

  #takeSign(sign: string): boolean {
    const { kind, text } = this.#peek();
    return kind === 'sign' && text === sign && this.#next() !== undefined;
  }

  #mustTake(sign: string): void {
    const { text, at } = this.#peek();
    if (!this.#takeSign(sign)) throw unexpected(text, at);
  }
}

type Test = (one: Value, wanted: Value) => boolean;

/** For `!=` the test of `=`. Undefined when this kind of field has no such comparison. */
function testOf(sign: string, kind: Kind): Test | undefined {
  if (sign === '=' || sign === '!=') return (one, wanted) => one === wanted;
  if (kind === 'text') {
    if (sign === '^=') return (one, wanted) => String(one).startsWith(String(wanted));
    if (sign === '~=') return (one, wanted) => fold(one) === fold(wanted);
    if (sign === '^~=') return (one, wanted) => fold(one).startsWith(fold(wanted));
  }
  if (kind === 'number' || kind === 'time') {
    if (sign === '>') return (one, wanted) => one > wanted;
    if (sign === '>=') return (one, wanted) => one >= wanted;
    if (sign === '<') return (one, wanted) => one < wanted;
    if (sign === '<=') return (one, wanted) => one <= wanted;
  }
  return undefined;
}

function fold(value: Value): string {
  return String(value).toLowerCase();
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

function valueOf({ kind, text }: Token, wanted: Kind, now: number): Value | undefined {
  const plain = kind === 'string' ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text;
  switch (wanted) {
    case 'text':
      return kind === 'string' || kind === 'number' ? plain : undefined;
    case 'number':
      return kind !== 'word' && /^-?\d{1,15}(?:\.\d+)?$/.test(plain) ? Number(plain) : undefined;
    case 'flag':
      return /^(?:true|false)$/i.test(plain) ? plain.toLowerCase() === 'true' : undefined;
    case 'time': {
      const [, count, unit = ''] = /^-(\d{1,9})([mhd])$/.exec(plain) ?? [];
      if (count !== undefined) return now - Number(count) * (UNIT_MS[unit] ?? 0);
      if (kind === 'number') return Number(plain);
      const ms = ISO.test(plain) ? Date.parse(plain) : Number.NaN;
      return Number.isNaN(ms) ? undefined : ms;
    }
  }
}

function unexpected(text: string, at: number): CqlError {
  return new CqlError('UnexpectedToken', `${text.slice(0, 100)} is not expected here`, at);
}
