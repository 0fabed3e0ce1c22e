// What a filter says once it is read. Every leaf compares columns with values of the same type.

/** The columns that a filter may name, and what they hold. */
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
  | { readonly kind: 'value'; readonly value: Value };

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
  | { readonly kind: 'null'; readonly negated: boolean; readonly left: Operand };

export function typeOf(operand: Operand): 'number' | 'text' {
  if (operand.kind === 'column') return COLUMNS[operand.name] ?? 'text';
  return typeof operand.value === 'string' ? 'text' : 'number';
}
