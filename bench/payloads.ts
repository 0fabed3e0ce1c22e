import { SeededRandom } from '../src/testing/disk/seeded-random.ts';

/** Room for a stamp that makes a payload unlike every other. */
const STAMP_DIGITS = 16;
const TEMPLATES = 64;
const WITH_RESULTS_BYTES = 1000;
/** For prose, paths and code. zstd leaves about a third of a payload. */
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
    return this.renew(Buffer.from(this.#templates[this.#count % TEMPLATES] ?? []));
  }

  /** Makes another payload of one that `next` gave, in its memory. */
  renew(payload: Buffer): Buffer {
    this.#count += 1;
    payload.write(String(this.#count).padStart(STAMP_DIGITS, '0'), '{"id":"'.length, 'latin1');
    return payload;
  }

  *take(count: number): Generator<Buffer> {
    for (let i = 0; i < count; i++) yield this.next();
  }
}

/** A message as an agent leaves it: what it said and, when there is room, what its tools answered. */
function template(random: SeededRandom, bytes: number): Buffer {
  let text = `{"id":"${'0'.repeat(STAMP_DIGITS)}","role":"assistant","text":"`;
  const proseBytes = bytes < WITH_RESULTS_BYTES ? bytes - 2 : bytes / 2;
  while (text.length < proseBytes) text += prose(random);
  if (bytes < WITH_RESULTS_BYTES) return Buffer.from(`${text.slice(0, bytes - 2)}"}`);

  text += '","results":[';
  while (text.length < bytes) text += `${toolResult(random)},`;
  // Cut after a whole result, and filled up to the size asked for.
  const cut = text.lastIndexOf('},', bytes - 16) + 1;
  const whole = `${text.slice(0, cut)}],"end":"`;
  return Buffer.from(`${whole}${'.'.repeat(bytes - whole.length - 2)}"}`);
}

function prose(random: SeededRandom): string {
  const kind = random.below(100);
  if (kind < 3) return `${path(random)} `;
  if (kind < 5) return `${random.bits().toString(16)} `;
  if (kind < 8) return `${random.below(100_000)} `;
  return kind < 18 ? `${word(random)}. ` : `${word(random)} `;
}

function toolResult(random: SeededRandom): string {
  const code = `const ${word(random)} = await ${word(random)}.${word(random)}(${word(random)});`;
  return `{"file":"${path(random)}","line":${random.below(900)},"column":${random.below(80)},"match":"  ${code}"}`;
}

function path(random: SeededRandom): string {
  return `src/${word(random)}/${word(random)}-${word(random)}.ts`;
}

/** Few words are frequent and many are rare, as in any text. */
function word(random: SeededRandom): string {
  const rank = Math.floor((random.bits() / 2 ** 32) ** 2 * WORDS.length);
  return WORDS[rank] ?? '';
}
