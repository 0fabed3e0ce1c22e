import { SeededRandom } from '../src/testing/disk/seeded-random.ts';

// A million things that agents say, the same ones in every run: prose, code, logs, other languages. Words come as in any
// text, few of them often and most of them seldom (Zipf).

const SYLLABLES =
  'ba co di fu ga he ki lo ma ne po qui ra se ti vu wa xe yo zu pra stro ment tion ing er al'.split(
    ' ',
  );
const WORDS = 40_000;
const CHINESE =
  '的一是了我不在有人这上大来和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里';
const KANA =
  'のにはをたがでてとしれさあいうえおかきくけこすせそなひふへほまみむめもやゆよらりるろわん';
const GERMAN = [
  'größer',
  'für',
  'Prüfung',
  'über',
  'Änderung',
  'Straße',
  'schließen',
  'möglich',
] as const;
const RUSSIAN = [
  'ошибка',
  'файл',
  'проверка',
  'строка',
  'сервер',
  'запрос',
  'память',
  'очередь',
] as const;
const LEVELS = ['INFO', 'WARN', 'ERROR', 'DEBUG'] as const;

export class SearchTexts {
  readonly #random: SeededRandom;
  readonly #words: readonly string[];
  readonly #ranks: Uint16Array = zipfTable(WORDS);

  constructor(seed: number = 19) {
    this.#random = new SeededRandom(seed);
    this.#words = makeWords(new SeededRandom(7));
  }

  /** The word of a rank: 0 is the most common. */
  wordOf(rank: number): string {
    return this.#words[rank] ?? '';
  }

  /** About a thousand bytes. */
  next(): string {
    const kind = this.#random.below(100);
    if (kind < 50) return this.#prose(130);
    if (kind < 68) return this.#code(14);
    if (kind < 84) return this.#log(9);
    if (kind < 88) return this.#mixed(GERMAN);
    if (kind < 92) return this.#mixed(RUSSIAN);
    return kind < 96 ? this.#cjk(CHINESE) : this.#cjk(KANA);
  }

  #word(): string {
    return this.#words[this.#ranks[this.#random.below(this.#ranks.length)] ?? 0] ?? '';
  }

  #prose(count: number): string {
    let text = '';
    for (let n = 0; n < count; n += 1) text += this.#word() + (n % 12 === 11 ? '. ' : ' ');
    return text;
  }

  #name(): string {
    const second = this.#word();
    return this.#random.chance(0.5)
      ? `${this.#word()}${second.slice(0, 1).toUpperCase()}${second.slice(1)}`
      : `${this.#word()}_${second}`;
  }

  #code(lines: number): string {
    let text = '';
    for (let n = 0; n < lines; n += 1) {
      text += `  const ${this.#name()} = await ${this.#word()}.${this.#name()}(${this.#word()}, ${this.#random.below(999)});\n`;
    }
    return text;
  }

  #log(lines: number): string {
    let text = '';
    for (let n = 0; n < lines; n += 1) {
      const time = `2026-11-${10 + this.#random.below(19)}T${10 + this.#random.below(13)}:${10 + this.#random.below(49)}`;
      const level = this.#random.pick(LEVELS);
      text += `${time} ${level} src/${this.#word()}/${this.#word()}.ts:${this.#random.below(900)} ${this.#prose(6)} id=${this.#random.bits().toString(16)}\n`;
    }
    return text;
  }

  #mixed(words: readonly [string, ...string[]]): string {
    let text = '';
    for (let n = 0; n < 40; n += 1) text += `${this.#random.pick(words)} ${this.#word()} `;
    return text;
  }

  #cjk(characters: string): string {
    let text = '';
    for (let n = 0; n < 260; n += 1) {
      const rank = Math.floor((this.#random.bits() / 2 ** 32) ** 2 * characters.length);
      text += characters[rank] ?? '';
      if (n % 17 === 16) text += '。';
    }
    return text;
  }
}

function makeWords(random: SeededRandom): string[] {
  const words = new Set<string>();
  while (words.size < WORDS) {
    const syllables = 1 + Math.floor(Math.log2(2 + words.size) / 5) + random.below(3);
    let word = '';
    for (let n = 0; n < syllables; n += 1) word += SYLLABLES[random.below(SYLLABLES.length)] ?? '';
    words.add(word);
  }
  return [...words];
}

/** Ranks, each as often as its share of a text is. */
function zipfTable(words: number): Uint16Array {
  const table = new Uint16Array(1 << 20);
  let total = 0;
  for (let rank = 0; rank < words; rank += 1) total += 1 / (rank + 2.7);
  let at = 0;
  let sum = 0;
  for (let rank = 0; rank < words; rank += 1) {
    sum += 1 / (rank + 2.7);
    const end = Math.round((sum / total) * table.length);
    while (at < end) table[at++] = rank;
  }
  return table;
}

export interface AskedQuery {
  /** As people write it. */
  readonly query: string;
  /** The same for FTS5. */
  readonly match: string;
  /** The number of newest matches that Quipu ranks for such a query. */
  readonly candidates: number;
}

/** `none`: a word that nobody said. What it takes is what any query takes. */
export type QueryClass = 'common' | 'rare' | 'phrase' | 'prefix' | 'cjk' | 'none';

const CANDIDATES = 10_000;
const PHRASE_CANDIDATES = 4000;

/** The queries of each class. */
export function searchQueries(texts: SearchTexts): Record<QueryClass, readonly AskedQuery[]> {
  const word = (rank: number): AskedQuery => {
    const query = texts.wordOf(rank);
    return { query, match: `"${query}"`, candidates: CANDIDATES };
  };
  const numbers = Array.from({ length: 10 }, (_, n) => n);
  return {
    common: numbers.map((n) => word(n * 3)),
    rare: numbers.map((n) => word(39_000 + n * 90)),
    phrase: numbers.map((n) => {
      const query = `"${texts.wordOf(n)} ${texts.wordOf(n + 1)}"`;
      return { query, match: query, candidates: PHRASE_CANDIDATES };
    }),
    prefix: numbers.map((n) => {
      const start = `${SYLLABLES[n] ?? ''}${SYLLABLES[n + 3] ?? ''}`.slice(0, 4);
      return { query: `${start}*`, match: `"${start}" *`, candidates: CANDIDATES };
    }),
    cjk: numbers.map((n) => {
      const from = n < 5 ? CHINESE : KANA;
      const [a, b] = [from[n % 5] ?? '', from[(n % 5) + 2] ?? ''];
      return { query: a + b, match: `"${a}${b}"`, candidates: CANDIDATES };
    }),
    none: numbers.map((n) => {
      const query = `unsaid${n}`;
      return { query, match: `"${query}"`, candidates: CANDIDATES };
    }),
  };
}

const CJK_RUN = /[\u3040-\u30ff\u4e00-\u9fff]+/g;

/** Runs of Chinese and Japanese as pairs of characters: what a bare table needs to find them. */
export function withPairs(text: string): string {
  return text.replaceAll(CJK_RUN, (run) => {
    let pairs = ' ';
    for (let at = 0; at < run.length; at += 1) pairs += `${run.slice(at, at + 2)} `;
    return pairs;
  });
}
