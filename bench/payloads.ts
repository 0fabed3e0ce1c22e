import { SeededRandom } from '../src/testing/disk/seeded-random.ts';

/** Room for a stamp that makes a payload unlike every other. */
const STAMP_DIGITS = 16;
const TEMPLATES = 64;
/** What agents write: prose around paths, code, numbers and ids. zstd leaves a good third of it. */
const WORDS =
  `the of to and a in is it that for was on with as be this are by at from or an not have which but
  they you we can file test error function value return call type line change first then should when
  because there need will would could now fixed added removed read write parser token store commit turn
  context branch message result output input build check failed passed expected received undefined null
  object array string number async await import export const index length offset buffer record journal
  header footer module package version release option default handler request response status retry
  timeout connection socket server client thread queue worker process memory cache latency throughput
  benchmark measure compare improve rewrite simplify rename extract document explain suggest verify`.split(
    /\s+/,
  );

/** Payloads of `bytes` bytes of JSON, each different, the same ones for every driver. */
export class Payloads {
  readonly #templates: readonly Buffer[];
  #count = 0;

  constructor(bytes: number, seed: number = 1) {
    const random = new SeededRandom(seed);
    this.#templates = Array.from({ length: TEMPLATES }, () => template(random, bytes));
  }

  next(): Buffer {
    const index = this.#count % TEMPLATES;
    this.#count += 1;
    const payload = Buffer.from(this.#templates[index] ?? []);
    payload.write(String(this.#count).padStart(STAMP_DIGITS, '0'), '{"id":"'.length, 'latin1');
    return payload;
  }

  *take(count: number): Generator<Buffer> {
    for (let i = 0; i < count; i++) yield this.next();
  }
}

function template(random: SeededRandom, bytes: number): Buffer {
  const open = `{"id":"${'0'.repeat(STAMP_DIGITS)}","role":"assistant","text":"`;
  let text = open;
  while (text.length < bytes - 2) text += piece(random);
  return Buffer.from(`${text.slice(0, bytes - 2)}"}`);
}

function piece(random: SeededRandom): string {
  const kind = random.below(100);
  if (kind < 4) return `src/${word(random)}/${word(random)}-${word(random)}.ts:${random.below(400)} `;
  if (kind < 6) return `${random.bits().toString(16)}${random.bits().toString(16)} `;
  if (kind < 9) return `${random.below(100_000)} `;
  if (kind < 12) return `const ${word(random)} = await ${word(random)}(${word(random)}); `;
  return kind < 20 ? `${word(random)}. ` : `${word(random)} `;
}

/** Few words are frequent and many are rare, as in any text. */
function word(random: SeededRandom): string {
  const rank = Math.floor((random.bits() / 2 ** 32) ** 2 * WORDS.length);
  return WORDS[rank] ?? '';
}
