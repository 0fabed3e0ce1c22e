import { hashText } from '../base/hash.ts';
import type { Statement } from './sql.ts';

const TABLE = /\bquipu\./g;
const HASH_CHARS = 12;

/**
 * Words statements for the schema of the store. Statements are written for the schema `quipu` and name it at every
 * table, because a pooler may forget the search path of a connection. The name of a prepared statement also
 * identifies its text. So a connection that another store used before cannot mix up the two.
 */
export class Wording {
  readonly #schema: string;
  readonly #named: Map<string, Statement> = new Map();

  /** Trusts the name to need no quotes. */
  constructor(schema: string) {
    this.#schema = schema;
  }

  textOf(text: string): string {
    return this.#schema === 'quipu' ? text : text.replaceAll(TABLE, `${this.#schema}.`);
  }

  of(statement: Statement | string): Statement | { readonly text: string } {
    if (typeof statement === 'string') return { text: this.textOf(statement) };
    const known = this.#named.get(statement.text);
    if (known !== undefined) return known;
    const text = this.textOf(statement.text);
    const name = `${statement.name}-${hashText(text).slice(0, HASH_CHARS)}`;
    const worded = { ...statement, name, text };
    this.#named.set(statement.text, worded);
    return worded;
  }
}
