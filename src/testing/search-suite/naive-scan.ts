// A second opinion on what a query finds: no index, no tokens in common with the real thing, and no parser. It looks at
// the text of every document with expressions.

export type Wish =
  | { readonly word: string; readonly prefix?: true }
  | { readonly phrase: readonly string[] }
  | { readonly role: string }
  | { readonly all: readonly Wish[] }
  | { readonly any: readonly Wish[] }
  | { readonly not: Wish };

export interface NaiveDocument {
  readonly role: string;
  readonly text: string;
}

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;

/** The query that asks for it. */
export function toQuery(wish: Wish): string {
  if ('word' in wish) return wish.prefix === true ? `${wish.word}*` : wish.word;
  if ('phrase' in wish) return `"${wish.phrase.join(' ')}"`;
  if ('role' in wish) return `role:${wish.role}`;
  if ('all' in wish) return `(${wish.all.map(toQuery).join(' ')})`;
  if ('any' in wish) return `(${wish.any.map(toQuery).join(' OR ')})`;
  return `-${toQuery(wish.not)}`;
}

export function matches(document: NaiveDocument, wish: Wish): boolean {
  if ('word' in wish) return hasWord(document.text, wish.word, wish.prefix === true);
  if ('phrase' in wish) return hasPhrase(document.text, wish.phrase);
  if ('role' in wish) return document.role === wish.role;
  if ('all' in wish) return wish.all.every((one) => matches(document, one));
  if ('any' in wish) return wish.any.some((one) => matches(document, one));
  return !matches(document, wish.not);
}

function hasWord(text: string, word: string, prefix: boolean): boolean {
  if (new RegExp(CJK.source, 'u').test(word)) {
    return [...text.matchAll(CJK)].some(([run]) => run.includes(word));
  }
  const wanted = plain(word).replaceAll('_', '');
  const fits = (found: string): boolean => (prefix ? found.startsWith(wanted) : found === wanted);
  return runsOf(text).some(
    (run) => fits(plain(run).replaceAll('_', '')) || partsOf(run).some(fits),
  );
}

function hasPhrase(text: string, words: readonly string[]): boolean {
  const all = runsOf(text).flatMap(partsOf);
  const wanted = words.flatMap(partsOf);
  return all.some((_, at) => wanted.every((part, index) => all[at + index] === part));
}

function runsOf(text: string): string[] {
  return text.replaceAll(CJK, ' cjk ').match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function partsOf(run: string): string[] {
  return run
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .split('_')
    .filter((part) => part !== '')
    .map(plain);
}

function plain(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase();
}
