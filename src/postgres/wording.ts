import { hashText } from '../base/hash.ts';
import type { Statement } from './sql.ts';

const TABLE = /\bquipu\./g;
const HASH_CHARS = 12;

/**
 * Statements are written for the schema `quipu`, and name it at every table: what a connection takes for its own schema is
 * for a pooler to forget. Here they are worded for the schema that is meant. The name of a prepared statement tells
 * its text, too, so that a connection which another store had before cannot take one for the other.
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
