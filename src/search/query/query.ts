// A query as a tree. The engines compile it, a snippet is marked by it, and a test evaluates it by hand.

/** A token that a document has as a part or as a whole. With `prefix`, the beginning of one. */
export interface Term {
  readonly kind: 'term';
  readonly token: string;
  readonly prefix: boolean;
}

/** Parts that follow each other. With `prefix`, the last one is the beginning of a part. */
export interface Phrase {
  readonly kind: 'phrase';
  readonly parts: readonly string[];
  readonly prefix: boolean;
}

/** A fact about a document that it has or has not, whatever its text. */
export interface FieldTest {
  readonly kind: 'field';
  readonly field: TokenField;
  readonly value: string;
}

export type Leaf = Term | Phrase | FieldTest;
export type Condition =
  | Leaf
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Condition[] }
  | { readonly kind: 'not'; readonly term: Condition };

/** Fields that stand in the index as tokens, and so anywhere in a query. */
export const TOKEN_FIELDS = ['kind', 'type', 'role', 'tool', 'model'] as const;
export type TokenField = (typeof TOKEN_FIELDS)[number];

/** Fields that limit the whole answer. They stand beside all other words, and not under OR. */
export const LIMIT_FIELDS = ['context', 'label', 'before', 'after'] as const;
export type LimitField = (typeof LIMIT_FIELDS)[number];

export interface Limits {
  /** Turns that these contexts show. Every one of them must. */
  readonly contexts: readonly Choice[];
  /** Labels of the context that a turn was appended to. */
  readonly labels: readonly Choice[];
  /** Unix time in milliseconds, exclusive. */
  readonly before?: number;
  /** Unix time in milliseconds, inclusive. */
  readonly after?: number;
}

export interface Choice {
  readonly value: string;
  readonly wanted: boolean;
}

export interface Query {
  /** Undefined when the query has limits alone, and matches everything within them. */
  readonly condition: Condition | undefined;
  readonly limits: Limits;
}

/** The kinds of thread, as `kind:` names them. */
export const SEARCH_KINDS = [
  'context',
  'workflow',
  'chat',
  'session',
  'artifact',
  'queue',
] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

/** True when no document matches without one of its words. */
export function needsWords(condition: Condition | undefined): boolean {
  if (condition === undefined || condition.kind === 'not' || condition.kind === 'field')
    return false;
  if (condition.kind === 'and') return condition.terms.some(needsWords);
  return condition.kind === 'or' ? condition.terms.every(needsWords) : true;
}

/** The leaves that a document must not miss to be shown: what a snippet marks. Those under a NOT are left out. */
export function wantedLeaves(condition: Condition | undefined): readonly (Term | Phrase)[] {
  if (condition === undefined || condition.kind === 'not' || condition.kind === 'field') return [];
  if (condition.kind === 'term' || condition.kind === 'phrase') return [condition];
  return condition.terms.flatMap(wantedLeaves);
}
