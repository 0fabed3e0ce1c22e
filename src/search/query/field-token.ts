import { SEARCH_KINDS, TOKEN_FIELDS, type TokenField } from './query.ts';

// A fact about a document is one token. It begins with a character of the private use area, which no text token has,
// and its punctuation is moved there, too: the tokenizers of the engines take such a character for a letter.

const FIRST_FIELD = 0xe000;
const FIRST_ASCII = 0xe100;
const VALUE_CHARS_MAX = 120;

export function fieldToken(field: TokenField, value: string): string {
  const mark = String.fromCharCode(FIRST_FIELD + TOKEN_FIELDS.indexOf(field));
  return mark + moved(value.normalize('NFC').toLowerCase().slice(0, VALUE_CHARS_MAX));
}

function moved(value: string): string {
  return value
    .replaceAll(/[^a-z0-9\u0080-\uffff]/g, (char) =>
      String.fromCharCode(FIRST_ASCII + char.charCodeAt(0)),
    )
    .replaceAll(/[\uD800-\uDFFF\s]/g, '\ue0ff');
}

/** Every document has one of these. */
export const KIND_TOKENS: readonly string[] = SEARCH_KINDS.map((kind) => fieldToken('kind', kind));
