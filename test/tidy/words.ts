// What no file of the project says. The expressions are written so that they do not match themselves.
const FORBIDDEN: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: 'an open reminder', pattern: /\b(?:T[O]DO|F[I]XME|X[X]X)\b/ },
  { what: 'a path outside of the project', pattern: /\.\.\/share[d]\b/ },
  {
    what: 'a path of one machine',
    pattern: /(?<![\w.:/-])\/(?:wor[k]|hom[e]|User[s]|roo[t]|tm[p])\/\w/,
  },
];

// A comment line that opens like a statement and ends like one.
const COMMENTED_OUT =
  /^\s*\/\/\s*(?:import|export|const|let|var|return|throw|await|function|class|if \(|for \(|while \(|\}|[\w.]+\().*[;{]\s*$/;

export interface Finding {
  readonly line: number;
  readonly what: string;
}

/** Forbidden words in any text; code that was commented out only in sources. */
export function findForbidden(text: string, isSource: boolean): Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const found = FORBIDDEN.filter(({ pattern }) => pattern.test(line)).map(({ what }) => what);
    if (isSource && COMMENTED_OUT.test(line)) found.push('code that was commented out');
    return found.map((what) => ({ line: index + 1, what }));
  });
}
