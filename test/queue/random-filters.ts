import fc from 'fast-check';

const word = fc.constantFrom(
  'self',
  'Self',
  'external:telegram:tg-main:dm:alice:alice',
  'internal:dm:default:warden',
  'message',
  'record',
  'toolcall',
  "it's",
  '',
  '%',
  'a_b',
  'ÄÖ',
  'äö',
  'Zebra',
  'a\u{1}b',
  '😀',
  '10',
);
/** Columns of an event, with more in them than an event may have. Also characters that databases fall over. */
export const randomEvent: fc.Arbitrary<{
  source: string;
  type: string;
  subtype: string | null;
  content: string;
}> = fc.record({
  source: word,
  type: word,
  subtype: fc.option(word),
  content: fc.oneof(word, fc.string(), fc.constantFrom('a\0b', 'a\0\u{1}', 'self\0', '\0', 'a\n')),
});
const PATTERN_PIECES = '% _ a E : self * ? l \\ Ä ä b \u{1} . - [ ]'.split(' ');
const SETS = '[a-m] [^a-m] []a] [^]-a] [m-a] [^z-a] [a- [😀Ä-Ö] [e.-]'.split(' ');
const pattern = fc.array(fc.constantFrom(...PATTERN_PIECES, ...SETS), { maxLength: 5 });
export const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const text = fc.oneof(
  word.map(quote),
  fc.constantFrom('source', 'type', 'SubType', 'content', 'created_at'),
);
const number = fc.oneof(
  fc.constant('id'),
  fc.integer({ min: -3, max: 12 }).map(String),
  fc.constantFrom(
    '1.5',
    '.5',
    '2.',
    '1e1',
    '+4',
    '99999999999999999999',
    '-9223372036854775808',
    '1e999',
    '1152921504606846990',
    '1152921504606846976.5',
  ),
);
const operator = fc.constantFrom('=', '==', '<>', '!=', '<', '<=', '>', '>=');
const not = fc.constantFrom('', 'NOT ', 'not ');

const test = fc.oneof(
  fc.tuple(text, operator, text).map((parts) => parts.join(' ')),
  fc.tuple(number, operator, number).map((parts) => parts.join('')),
  fc.tuple(text, fc.constantFrom('IS', 'is NOT'), text).map((parts) => parts.join(' ')),
  fc
    .tuple(text, not, fc.constantFrom('LIKE', 'GLOB', 'like'), pattern)
    .map(([left, no, op, right]) => `${left} ${no}${op} ${quote(right.join(''))}`),
  fc
    .tuple(text, pattern, fc.constantFrom('\\', '%', '_', 'a', 'A', 'Ä'))
    .map(([left, right, escape]) => `${left} LIKE ${quote(right.join(''))} ESCAPE '${escape}'`),
  fc
    .tuple(text, not, fc.array(word.map(quote), { minLength: 1, maxLength: 3 }))
    .map(([left, no, values]) => `${left} ${no}IN (${values.join(', ')})`),
  fc
    .tuple(number, not, number, number)
    .map(([left, no, low, high]) => `${left} ${no}BETWEEN ${low} AND ${high}`),
  fc
    .tuple(
      fc.oneof(text, number),
      fc.constantFrom('IS NULL', 'IS NOT NULL', 'ISNULL', 'NOTNULL', 'NOT NULL'),
    )
    .map((parts) => parts.join(' ')),
);
const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    test,
    fc
      .tuple(tie('filter'), fc.constantFrom('AND', 'OR', 'and'), tie('filter'))
      .map((parts) => parts.join(' ')),
    tie('filter').map((inner) => `NOT ${inner}`),
    tie('filter').map((inner) => `(${inner})`),
  ),
}));

/** A text that is a filter, as people write them and as they do not. */
export const randomFilter: fc.Arbitrary<string> = filter;
