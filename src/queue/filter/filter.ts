// The parsed form of a filter. Every leaf compares columns with values of the same type.

/** The columns that a filter may name, and the types of their values. */
export const COLUMNS: Readonly<Record<string, 'number' | 'text'>> = {
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

type Type = 'number' | 'text';

/**
 * The functions that a filter may call, with the types of their arguments and results. `any`: the type of the value in
 * the JSON.
 */
export const FUNCTIONS: Readonly<
  Record<
    string,
    { readonly takes: readonly Type[]; readonly optional?: Type; readonly gives: Type | 'any' }
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

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly kind: 'not'; readonly term: Filter }
  | {
      readonly kind: 'compare';
      readonly op: CompareOp;
      readonly left: Operand;
      readonly right: Operand;
    }
  | {
      readonly kind: 'like';
      readonly negated: boolean;
      readonly left: Operand;
      readonly pattern: string;
      readonly escape?: string;
    }
  | {
      readonly kind: 'glob';
      readonly negated: boolean;
      readonly left: Operand;
      readonly pattern: string;
    }
  | {
      readonly kind: 'in';
      readonly negated: boolean;
      readonly left: Operand;
      readonly values: readonly Operand[];
    }
  | {
      readonly kind: 'between';
      readonly negated: boolean;
      readonly left: Operand;
      readonly low: Operand;
      readonly high: Operand;
    }
  /** Like `compare` with `=`, but NULL is the same as NULL. */
  | {
      readonly kind: 'same';
      readonly negated: boolean;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'null'; readonly negated: boolean; readonly left: Operand };

export function typeOf(operand: Operand): Type | 'any' {
  if (operand.kind === 'column') return COLUMNS[operand.name] ?? 'text';
  if (operand.kind === 'call') return FUNCTIONS[operand.name]?.gives ?? 'any';
  return typeof operand.value === 'string' ? 'text' : 'number';
}
