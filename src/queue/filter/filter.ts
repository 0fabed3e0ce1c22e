// The parsed form of a filter. Every leaf compares columns with values of the same type.

/** The columns that a filter may name, and the types of their values. */
export const COLUMNS: Readonly<Record<string, Type>> = {
  id: 'number',
  created_at: 'text',
  source: 'text',
  type: 'text',
  subtype: 'text',
  content: 'text',
};

export type Value = string | number | bigint;

export type Operand =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Operand[] };

/** `any`: the type of the value in the JSON. */
export type Type = 'number' | 'text' | 'any';

/** The functions that a filter may call, with the types of their arguments and results. */
export const FUNCTIONS: Readonly<
  Record<
    string,
    { readonly takes: readonly Type[]; readonly optional?: Type; readonly gives: Type }
  >
> = {
  json_extract: { takes: ['text', 'text'], gives: 'any' },
  length: { takes: ['text'], gives: 'number' },
  lower: { takes: ['text'], gives: 'text' },
  upper: { takes: ['text'], gives: 'text' },
  trim: { takes: ['text'], gives: 'text' },
  instr: { takes: ['text', 'text'], gives: 'number' },
  substr: { takes: ['text', 'number'], optional: 'number', gives: 'text' },
};

export type CompareOp = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** A test of an operand. */
type Test<Kind extends string, Parts = unknown> = Parts & {
  readonly kind: Kind;
  readonly negated: boolean;
  readonly left: Operand;
};

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly kind: 'not'; readonly term: Filter }
  | Omit<Test<'compare', { readonly op: CompareOp; readonly right: Operand }>, 'negated'>
  | Test<'like', { readonly pattern: string; readonly escape?: string }>
  | Test<'glob', { readonly pattern: string }>
  | Test<'in', { readonly values: readonly Operand[] }>
  | Test<'between', { readonly low: Operand; readonly high: Operand }>
  /** Like `compare` with `=`, but NULL is the same as NULL. */
  | Test<'same', { readonly right: Operand }>
  | Test<'null'>;

export function typeOf(operand: Operand): Type {
  if (operand.kind === 'column') return COLUMNS[operand.name] ?? 'text';
  if (operand.kind === 'call') return FUNCTIONS[operand.name]?.gives ?? 'any';
  return typeof operand.value === 'string' ? 'text' : 'number';
}

/** Makes a value a parameter and returns the place where it stands in the statement. */
type Bind = (value: Value) => string;

interface LikeTest {
  readonly pattern: string;
  /** One character. Absent: no character escapes. */
  readonly escape?: string | undefined;
}

/** The parts of SQL that databases write differently. */
export interface SqlDialect {
  /** The placeholder of the parameter with this number, from 1. */
  placeholder(index: number): string;
  column(name: string): string;
  value(value: Value, bind: Bind): string;
  /** Throws INVALID where there is no such function. */
  call(name: string, args: readonly string[]): string;
  /** Tests whether both are the same, or both NULL. */
  same(left: string, right: string): string;
  /** The wildcards are `%` and `_`. Upper and lower case of ASCII letters are the same. */
  like(left: string, test: LikeTest, bind: Bind): string;
  /** The wildcards are `*`, `?` and `[…]`. Case counts. */
  glob(left: string, pattern: string, bind: Bind): string;
}

export interface CompiledFilter {
  /** The condition is in parentheses; every value is a parameter. */
  readonly sql: string;
  readonly params: readonly Value[];
  /** The most steps for each byte of a text that is read: one for each character of a pattern. */
  readonly weight: number;
  readonly readsContent: boolean;
  /** The filter itself, for a look at each of its parts alone. */
  readonly filter: Filter;
}

// Weights, as measured. A step takes about 0.7 ns.

/** A column or a value takes as long as a pattern of one character on 16 bytes, and a source has up to 1,024. */
const OPERAND_WEIGHT = 1 / 64;
/** A content is read page by page. */
const CONTENT_WEIGHT = 2;
/** For `json_extract`, which parses its text twice. The other functions take less. */
const CALL_WEIGHT = 4;
/** Where the first characters are the same, `instr` compares this many at a time. */
const NEEDLE_CHARS = 32;
/** For a text from a column, such as a source. */
const NEEDLE_CHARS_MAX = 1024;

/** `before`: the number of parameters that the statement has in front of the filter. */
export function compileFilter(filter: Filter, dialect: SqlDialect, before = 0): CompiledFilter {
  const params: Value[] = [];
  let weight = 0;
  let readsContent = false;
  const bind: Bind = (value) => {
    params.push(value);
    return dialect.placeholder(before + params.length);
  };
  const weigh = (given: Operand): void => {
    weight += weightOf(given);
    if (given.kind === 'column') readsContent ||= given.name === 'content';
    if (given.kind === 'call') given.args.forEach(weigh);
  };
  const operand = (given: Operand): string => {
    weigh(given);
    return writeOperand(given, dialect, bind);
  };
  const write = (part: Filter): string => {
    switch (part.kind) {
      case 'and':
      case 'or':
        return `(${part.terms.map(write).join(part.kind === 'and' ? ' AND ' : ' OR ')})`;
      case 'not':
        return `(NOT ${write(part.term)})`;
      case 'compare':
        return `(${operand(part.left)} ${part.op} ${operand(part.right)})`;
      case 'like':
        weight += part.pattern.length;
        return negate(part.negated, dialect.like(operand(part.left), part, bind));
      case 'glob':
        weight += part.pattern.length;
        return negate(part.negated, dialect.glob(operand(part.left), part.pattern, bind));
      case 'in': {
        const left = operand(part.left);
        return negate(part.negated, `${left} IN (${part.values.map(operand).join(', ')})`);
      }
      case 'between': {
        const left = operand(part.left);
        return negate(
          part.negated,
          `${left} BETWEEN ${operand(part.low)} AND ${operand(part.high)}`,
        );
      }
      case 'same':
        return negate(part.negated, dialect.same(operand(part.left), operand(part.right)));
      case 'null':
        return `(${operand(part.left)} IS ${part.negated ? 'NOT ' : ''}NULL)`;
    }
  };
  const sql = write(filter);
  return { sql, params, weight, readsContent, filter };
}

/** An operand as an expression of its own. */
export function compileOperand(
  operand: Operand,
  dialect: SqlDialect,
): Pick<CompiledFilter, 'sql' | 'params'> {
  const params: Value[] = [];
  const bind: Bind = (value) => dialect.placeholder(params.push(value));
  return { sql: writeOperand(operand, dialect, bind), params };
}

function writeOperand(given: Operand, dialect: SqlDialect, bind: Bind): string {
  if (given.kind === 'column') return dialect.column(given.name);
  if (given.kind === 'value') return dialect.value(given.value, bind);
  const args = given.args.map((arg) => writeOperand(arg, dialect, bind));
  return dialect.call(given.name, args);
}

/** The weight without that of the arguments. */
function weightOf(given: Operand): number {
  if (given.kind === 'value') return OPERAND_WEIGHT;
  if (given.kind === 'column') return given.name === 'content' ? CONTENT_WEIGHT : OPERAND_WEIGHT;
  const [, needle] = given.name === 'instr' ? given.args : [];
  if (needle === undefined) return CALL_WEIGHT;
  const chars = needle.kind === 'value' ? String(needle.value).length : NEEDLE_CHARS_MAX;
  return CALL_WEIGHT + chars / NEEDLE_CHARS;
}

function negate(negated: boolean, sql: string): string {
  return negated ? `(NOT (${sql}))` : `(${sql})`;
}

export const sqliteDialect: SqlDialect = {
  placeholder: () => '?',
  column: (name) => name,
  value: (value, bind) => bind(value),
  // Content need not be JSON, and SQLite's function fails on text that is not JSON.
  call: (name, args) =>
    name === 'json_extract'
      ? `CASE WHEN json_valid(${args[0] ?? ''}) THEN json_extract(${args.join(', ')}) END`
      : `${name}(${args.join(', ')})`,
  same: (left, right) => `${left} IS ${right}`,
  like: (left, { pattern, escape }, bind) =>
    `${left} LIKE ${bind(pattern)}${escape === undefined ? '' : ` ESCAPE ${bind(escape)}`}`,
  glob: (left, pattern, bind) => `${left} GLOB ${bind(pattern)}`,
};
